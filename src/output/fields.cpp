#include "output/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "output/cell_text.h"

namespace tiletune {

namespace {

Field field_of(const Column& column) {
  return {column.name, column.type, column.meaning,
          [&column](const RankedTrial& row) { return column.read(row.trial); }, &column};
}

Field rank_field() {
  return {
      "rank",
      CellType::integer,
      "place among comparable rows; equal where rows cannot be distinguished",
      [](const RankedTrial& row) -> Cell { return row.rank == 0 ? Cell() : Cell(std::int64_t{row.rank}); },
      nullptr,
      false};
}

Field tied_field() {
  return {"tied",
          CellType::integer,
          "1: others share the rank",
          [](const RankedTrial& row) -> Cell { return std::int64_t{row.tied ? 1 : 0}; },
          nullptr,
          false,
          true};
}

Field verified_field() {
  return {"verified",
          CellType::integer,
          "1: results were compared with a reference, 0: with nothing (timed on a GPU only)",
          [](const RankedTrial& row) -> Cell {
            const auto verified = verified_of(row.trial);
            return verified ? Cell(std::int64_t{*verified ? 1 : 0}) : Cell();
          },
          nullptr,
          true,
          true};
}

Field interval_field() {
  return {"ci_us", CellType::text, "ci_low_us..ci_high_us: the median's 95% interval, us",
          [](const RankedTrial& row) -> Cell {
            const Trial& trial = row.trial;
            if (!trial.ci_low_us || !trial.ci_high_us) return {};
            return three_digits(*trial.ci_low_us) + ".." + three_digits(*trial.ci_high_us);
          },
          &column_by_name("ci_low_us")};
}

Field limiter_field() {
  Field field = field_of(column_by_name("occupancy_limiter"));
  field.name = "limiter";
  field.meaning = "short for occupancy_limiter: " + field.meaning;
  return field;
}

/// The throughput of launches that follow each other for seconds.
Field sustained_tflops_field() {
  return {"sustained_tflops", CellType::real,
          "10^12 operations per second, back to back: tflops * median_us / sustained_us",
          [](const RankedTrial& row) -> Cell {
            const Trial& trial = row.trial;
            if (!trial.tflops || !trial.median_us || !trial.sustained_us) return {};
            return *trial.tflops * *trial.median_us / *trial.sustained_us;
          }};
}

bool is_null(const Cell& cell) { return std::holds_alternative<std::monostate>(cell); }

/// By place among the rows. Rows are read in the order in which they lie in the database: it matters where
/// there are millions.
std::vector<Cell> cells_of(const Database& database, const std::vector<RankedRow>& rows, const Field& field) {
  std::vector<Cell> cells(rows.size());
  if (!field.reads_trial) {
    for (std::size_t i = 0; i < rows.size(); ++i) cells[i] = field.read({{}, rows[i].rank, rows[i].tied});
    return cells;
  }
  std::vector<std::size_t> by_id(rows.size());
  std::iota(by_id.begin(), by_id.end(), 0U);
  std::sort(by_id.begin(), by_id.end(), [&](auto a, auto b) { return rows[a].id < rows[b].id; });
  for (const std::size_t i : by_id) {
    cells[i] = field.sorted_by == nullptr ? field.read(read_row(database, rows[i]))
                                          : database.cell(rows[i].id, *field.sorted_by);
  }
  return cells;
}

/// All cells of a column that are not null hold one type, so Cell's own order compares their values.
void sort_rows(const Database& database, std::vector<RankedRow>& rows, const SortOrder& order) {
  const std::vector<Cell> cells = cells_of(database, rows, *order.field);
  std::vector<std::size_t> places(rows.size());
  std::iota(places.begin(), places.end(), 0U);
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    const Cell& first = cells[a];
    const Cell& second = cells[b];
    if (is_null(first) || is_null(second)) return !is_null(first) && is_null(second);
    return order.descending ? second < first : first < second;
  });
  std::vector<RankedRow> sorted;
  sorted.reserve(rows.size());
  for (const std::size_t place : places) sorted.push_back(rows[place]);
  rows = std::move(sorted);
}

}  // namespace

std::optional<bool> verified_of(const Trial& trial) {
  if (trial.source != Source::measured || !trial.median_us) return std::nullopt;
  return !is_unverified(trial);
}

namespace {

/// Whether some words of the name, which underscores separate, are the text.
bool has_words(const std::string& name, const std::string& text) {
  return ("_" + name + "_").find("_" + text + "_") != std::string::npos;
}

/// The column that was probably meant: the shortest of those whose name has these words.
std::string meant_column(const std::string& text, const std::vector<std::string>& known) {
  if (text == "time" || text == "time_us") return " Did you mean 'median_us'?";
  const std::string* shortest = nullptr;
  for (const std::string& name : known) {
    if (has_words(name, text) && (shortest == nullptr || name.size() < shortest->size())) shortest = &name;
  }
  return shortest == nullptr ? suggestion(text, known) : fmt::format(" Did you mean '{}'?", *shortest);
}

}  // namespace

Field field_by_name(const std::string& name) {
  std::vector<std::string> known;
  for (Field& field : known_fields()) {
    if (field.name == name) return std::move(field);
    known.push_back(field.name);
  }
  throw UserError(fmt::format("there is no column '{}'.{}", name, meant_column(name, known)),
                  "List the columns: tiletune rank --columns list");
}

std::vector<Field> fields_by_name(const std::vector<std::string>& names) {
  std::vector<Field> fields;
  fields.reserve(names.size());
  for (const std::string& name : names) fields.push_back(field_by_name(name));
  return fields;
}

std::vector<Field> all_fields() {
  std::vector<Field> fields{rank_field(), tied_field(), verified_field()};
  for (const Column& column : trial_columns()) {
    if (column.type != CellType::blob) fields.push_back(field_of(column));
  }
  return fields;
}

std::vector<Field> known_fields() {
  std::vector<Field> fields{rank_field(),     tied_field(),    verified_field(),
                            interval_field(), limiter_field(), sustained_tflops_field()};
  for (const Column& column : trial_columns()) fields.push_back(field_of(column));
  return fields;
}

SortOrder sort_order(const std::string& sort_by) {
  if (sort_by.empty()) return {};
  const bool descending = sort_by.front() == '-';
  return {field_by_name(sort_by.substr(descending ? 1 : 0)), descending};
}

std::vector<RankedRow> shown_rows(const Database& database, const RankingGroup& group, const SortOrder& order,
                                  std::size_t limit) {
  std::vector<RankedRow> rows = group.rows;
  if (order.field) sort_rows(database, rows, order);
  if (limit == 0) return rows;
  std::vector<RankedRow> shown;
  std::size_t kernels = 0;
  for (const RankedRow& row : rows) {
    if (row.rank == 0 || ++kernels <= limit) shown.push_back(row);
  }
  return shown;
}

RankedTrial read_row(const Database& database, const RankedRow& row) {
  return {database.row(row.id), row.rank, row.tied};
}

std::vector<Cell> cells_of(const RankedTrial& row, const std::vector<Field>& fields) {
  std::vector<Cell> cells;
  cells.reserve(fields.size());
  for (const Field& field : fields) cells.push_back(field.read(row));
  return cells;
}

std::string time_column(Source source) { return source == Source::predicted ? "predicted_us" : "median_us"; }

std::string human_cell(const Trial& trial, const std::string& column_name) {
  const Column& column = column_by_name(column_name);
  return human_text(column.read(trial), column.type);
}

std::string parameters_text(const Trial& trial) {
  if (trial.kind == "baseline") return "(baseline)";
  return human_cell(trial, "parameters");
}

}  // namespace tiletune
