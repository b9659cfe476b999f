#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "output/table.h"
#include "rank/ranking.h"
#include "store/columns.h"
#include "store/database.h"

namespace tiletune {

/// The writers that have a column.
enum class ColumnOf : unsigned { people = 1, csv = 2, not_json = 3, json = 4, programs = 6, all = 7 };

/// A column of a view. Numbers are aligned to the right.
struct ViewColumn {
  std::string name;
  CellType type = CellType::text;
  ColumnOf writers = ColumnOf::all;
  std::string (*text)(double number) = nullptr;  ///< of a real number for people; null: three digits
  int drop_order = 0;                            ///< as in TextTable
  bool is_flag = false;                          ///< JSON has true and false in place of 1 and 0
  bool may_be_blank = false;                     ///< tables show an empty cell as blank, not "-"
};

/// A whole row with its place.
struct RankedTrial {
  Trial trial;
  int rank = 0;
  bool tied = false;
  std::vector<RankedRow> others = {};  ///< rows that the best of a problem cannot be distinguished from
  LadderRung rung = {};                ///< set in ladders only
};

/// What --columns and --sort-by can name: a column of the database, or what a ranking adds to them.
struct Field : ViewColumn {
  std::string meaning;  ///< one line, with the unit
  std::function<Cell(const RankedTrial&)> read;
  const Column* sorted_by = nullptr;  ///< column of the database with the same order; none: what read() gives
  bool reads_trial = true;            ///< else only the rank
};

/// Whether a row's results were compared with something; none where no GPU has timed it.
std::optional<bool> verified_of(const Trial& trial);

/// Everything that --columns can name.
const std::vector<Field>& known_fields();
/// Throws UserError with the nearest name.
const Field& field_by_name(const std::string& name);
std::vector<Field> fields_by_name(const std::vector<std::string>& names);
/// The columns of CSV: those that must be equal for rows to be comparable, then the named ones.
std::vector<Field> comparable_fields(const std::vector<std::string>& names);

// Columns of tables. Tables leave them out if all of their cells are empty.

/// The time by which rows of this source are ranked.
Field time_field(Source source);
/// "verified" or "unverified"; empty unless `any_unverified`.
Field result_field(bool any_unverified);

/// The whole row.
RankedTrial read_row(const Database& database, const RankedRow& row);
std::vector<Cell> cells_of(const RankedTrial& row, const std::vector<Field>& fields);

/// "BM=128 BN=64", or "(baseline)".
std::string parameters_text(const Trial& trial);
/// A line that counts the rows whose results were compared with nothing; no line for 0.
std::vector<std::string> unverified_lines(std::size_t rows);

/// Which rate says how good rows are: that of device memory where it bounds them all, else that of
/// arithmetic.
class Throughput {
 public:
  void add(const Trial& trial) {
    of_memory_ = of_memory_ || (trial.bound == "memory" && trial.gbs);
    of_arithmetic_ = of_arithmetic_ || trial.bound == "compute";
  }
  bool is_of_memory() const { return of_memory_ && !of_arithmetic_; }
  /// gbs or tflops.
  std::string column() const { return is_of_memory() ? "gbs" : "tflops"; }

 private:
  bool of_memory_ = false;
  bool of_arithmetic_ = false;
};

/// The columns that rankings leave out where a terminal is too narrow, the first one first.
inline constexpr std::array<std::string_view, 20> kDroppedColumns{"limiter",
                                                                  "bound",
                                                                  "occupancy",
                                                                  "registers",
                                                                  "sustained_power_w",
                                                                  "sustained_tflops",
                                                                  "with_copies_us",
                                                                  "percent_of_peak",
                                                                  "percent_of_ceiling",
                                                                  "percent_of_copy",
                                                                  "noise_floor_percent",
                                                                  "baseline_us",
                                                                  "baseline",
                                                                  "speedup_over_previous",
                                                                  "speedup_over_first",
                                                                  "ci_us",
                                                                  "tied_with",
                                                                  "tflops",
                                                                  "gbs",
                                                                  "percent_of_baseline"};
/// The place of a column among these, from 1; 0: it is always shown.
int drop_order(std::string_view column, std::span<const std::string_view> dropped = kDroppedColumns);

/// Name and meaning of every column that --columns can name.
TextTable table_of_columns();

/// The parameters of rows shown together, without those that all rows of a template have alike: they would
/// make a table wide and tell nothing. A template's only row keeps all of its own.
class VaryingParameters {
 public:
  /// Where all rows of a template agree in all parameters, and nothing would be left of them.
  enum class AllAlike { in_the_legend, in_rows };

  explicit VaryingParameters(AllAlike all_alike = AllAlike::in_the_legend) : all_alike_(all_alike) {}
  void add(const Trial& trial);

  /// "BM=128 BN=64" of a row that was among them.
  std::string of(const Trial& trial) const;
  /// The column that shows of(trial). It refers to this object.
  Field field() const;
  /// What was left out: "in every sgemm_warptile row shown: TN=8 WN_ITER=2", a line per template.
  std::vector<std::string> legend() const;

 private:
  struct Alike {
    nlohmann::ordered_json values;
    std::size_t rows = 0;
    bool all = true;  ///< no parameter differs
  };
  bool is_left_out(const Alike& alike) const {
    return alike.rows > 1 && !(alike.all && all_alike_ == AllAlike::in_rows);
  }

  AllAlike all_alike_;
  std::map<std::string, Alike> alike_;
};

}  // namespace tiletune
