#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "store/trial.h"

namespace tiletune {

/// A cell of a row: null, integer, real, text or raw bytes.
using Blob = std::vector<std::uint8_t>;
using Cell = std::variant<std::monostate, std::int64_t, double, std::string, Blob>;

enum class CellType { integer, real, text, json, blob };

/// One column of a row. store/trial_columns.h is the only list of their names: DDL, inserts, reads, JSON,
/// CSV, --sort-by and --columns follow from it.
struct Column {
  std::string name;
  CellType type;
  std::string meaning;  ///< one line, with the unit
  std::function<Cell(const Trial&)> read;
  std::function<void(Trial&, const Cell&)> write;
  bool is_figure = false;   ///< stored as a member of the table's column `figures`
  bool may_be_bad = false;  ///< write() throws UserError for a cell that tiletune does not write
};

/// The length that GPU, problem and template of a row may have.
inline constexpr std::size_t kMostLabelBytes = 8192;

std::span<const Column> trial_columns();
/// The columns of the table trial. Instead of the figures it has one column `figures`: a JSON object with a
/// member for each figure of the row.
std::span<const Column> stored_columns();
/// The column of the table in which a column of rows is stored: itself, or `figures`.
const Column& stored_column(const Column& column);
/// Columns of text that must be equal for the times of two rows to be comparable.
std::span<const char* const> comparable_columns();
/// None where there is no column of that name.
const Column* find_column(std::string_view name);
/// Throws UserError with the nearest name.
const Column& column_by_name(const std::string& name);

/// Binds a cell to the parameter with this number, from 1. With `in_place` it is not copied, and must not
/// change until the parameter is bound again or the statement ends.
void bind_cell(SQLite::Statement& statement, int index, const Cell& cell, bool in_place = false);
Cell read_cell(const SQLite::Column& column);

}  // namespace tiletune
