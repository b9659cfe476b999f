#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rank/ranking.h"
#include "store/columns.h"
#include "store/database.h"

namespace tiletune {

/// A whole row with its place.
struct RankedTrial {
  Trial trial;
  int rank = 0;
  bool tied = false;
};

/// What --columns and --sort-by can name: a column of the database, or what a ranking adds to them.
struct Field {
  std::string name;
  CellType type = CellType::text;
  std::string meaning;  ///< one line, with the unit
  std::function<Cell(const RankedTrial&)> read;
  const Column* sorted_by = nullptr;  ///< column of the database with the same order; none: what read() gives
  bool reads_trial = true;            ///< else only the rank
  bool is_flag = false;               ///< 1 and 0 stand for true and false

  bool is_number() const { return type == CellType::integer || type == CellType::real; }
};

/// Whether a row's results were compared with something; none where no GPU has timed it.
std::optional<bool> verified_of(const Trial& trial);

/// Throws UserError with the nearest name.
Field field_by_name(const std::string& name);
std::vector<Field> fields_by_name(const std::vector<std::string>& names);
/// rank, tied, verified and every column but the raw samples.
std::vector<Field> all_fields();
/// Everything that --columns can name.
std::vector<Field> known_fields();

/// An order of rows; without a field the ranking's own, in which baselines have their place.
struct SortOrder {
  std::optional<Field> field;
  bool descending = false;
};
/// "median_us" ascending, "-tflops" descending, "" the ranking's own order. Throws UserError with the nearest
/// name.
SortOrder sort_order(const std::string& sort_by);

/// The rows of a group that a view shows: `limit` kernels (0: all), and all baselines, without which a
/// ranking says little. Nulls sort last.
std::vector<RankedRow> shown_rows(const Database& database, const RankingGroup& group, const SortOrder& order,
                                  std::size_t limit);
/// The whole row.
RankedTrial read_row(const Database& database, const RankedRow& row);
std::vector<Cell> cells_of(const RankedTrial& row, const std::vector<Field>& fields);

/// The name of the column that holds a source's ranking time: median_us or predicted_us.
std::string time_column(Source source);
/// One cell of a trial for people, by column name.
std::string human_cell(const Trial& trial, const std::string& column);
/// "BM=128 BN=64", or "(baseline)".
std::string parameters_text(const Trial& trial);

}  // namespace tiletune
