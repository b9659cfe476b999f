#include "output/fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace tiletune {

namespace {

Field rank_field() {
  return {"rank", CellType::integer, [](const RankedTrial& row) -> Cell {
            return row.rank == 0 ? Cell() : Cell(std::int64_t{row.rank});
          }};
}

Field tied_field() {
  return {"tied", CellType::integer,
          [](const RankedTrial& row) -> Cell { return std::int64_t{row.tied ? 1 : 0}; }};
}

Field field_of(const Column& column) {
  return {column.name, column.type, [&column](const RankedTrial& row) { return column.read(row.trial); }};
}

bool is_null(const Cell& cell) { return std::holds_alternative<std::monostate>(cell); }

/// All cells of a column that are not null hold one type, so Cell's own order compares their values.
void sort_rows(std::vector<RankedTrial>& rows, const Field& field, bool descending) {
  std::stable_sort(rows.begin(), rows.end(), [&](const RankedTrial& a, const RankedTrial& b) {
    const Cell first = field.read(a);
    const Cell second = field.read(b);
    if (is_null(first) || is_null(second)) return !is_null(first) && is_null(second);
    return descending ? second < first : first < second;
  });
}

}  // namespace

Field field_by_name(const std::string& name) {
  std::vector<std::string> known{"rank", "tied"};
  if (name == "rank") return rank_field();
  if (name == "tied") return tied_field();
  for (const Column& column : trial_columns()) {
    if (column.name == name) return field_of(column);
    known.push_back(column.name);
  }
  throw UserError(fmt::format("there is no column '{}'.{}", name, suggestion(name, known)),
                  "--format json shows every column.");
}

std::vector<Field> fields_by_name(const std::vector<std::string>& names) {
  std::vector<Field> fields;
  fields.reserve(names.size());
  for (const std::string& name : names) fields.push_back(field_by_name(name));
  return fields;
}

std::vector<Field> all_fields() {
  std::vector<Field> fields{rank_field(), tied_field()};
  for (const Column& column : trial_columns()) {
    if (column.type != CellType::blob) fields.push_back(field_of(column));
  }
  return fields;
}

SortOrder sort_order(const std::string& sort_by) {
  if (sort_by.empty()) return {};
  const bool descending = sort_by.front() == '-';
  return {field_by_name(sort_by.substr(descending ? 1 : 0)), descending};
}

std::vector<RankedTrial> shown_rows(const RankingGroup& group, const SortOrder& order, std::size_t limit) {
  std::vector<RankedTrial> rows = group.rows;
  if (order.field) sort_rows(rows, *order.field, order.descending);
  if (limit == 0) return rows;
  std::vector<RankedTrial> shown;
  std::size_t kernels = 0;
  for (RankedTrial& row : rows) {
    if (row.rank == 0 || ++kernels <= limit) shown.push_back(std::move(row));
  }
  return shown;
}

}  // namespace tiletune
