#include "output/fields.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "base/text.h"
#include "output/cell_text.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// "97.0..103"
Cell interval_of(const RankedTrial& row) {
  const Trial& trial = row.trial;
  if (!trial.ci_low_us || !trial.ci_high_us) return {};
  return three_digits(*trial.ci_low_us) + ".." + three_digits(*trial.ci_high_us);
}

Field field_of(const Column& column) {
  return {{column.name, column.type, ColumnOf::all, nullptr, drop_order(column.name)},
          column.meaning,
          [&column](const RankedTrial& row) { return column.read(row.trial); },
          &column};
}

/// What is no column of the database. Those for people alone are headers of the standard columns.
std::vector<Field> added_fields() {
  const Field limiter = field_of(column_by_name("occupancy_limiter"));
  return {{{"rank", CellType::integer},
           "place among comparable rows; equal where rows cannot be distinguished",
           [](const RankedTrial& row) { return row.rank == 0 ? Cell() : Cell(std::int64_t{row.rank}); },
           nullptr,
           false},
          {{"tied", CellType::integer, ColumnOf::all, nullptr, 0, true},
           "1: others share the rank",
           [](const RankedTrial& row) -> Cell { return std::int64_t{row.tied ? 1 : 0}; },
           nullptr,
           false},
          {{"verified", CellType::integer, ColumnOf::all, nullptr, 0, true},
           "1: results were compared with a reference, 0: with nothing (timed on a GPU only)",
           [](const RankedTrial& row) {
             const auto verified = verified_of(row.trial);
             return verified ? Cell(std::int64_t{*verified}) : Cell();
           }},
          {{"ci_us", CellType::text, ColumnOf::people, nullptr, drop_order("ci_us")},
           "ci_low_us..ci_high_us: the median's 95% interval, us",
           interval_of,
           &column_by_name("ci_low_us")},
          {{"limiter", limiter.type, ColumnOf::people, nullptr, drop_order("limiter")},
           "short for occupancy_limiter: " + limiter.meaning,
           limiter.read,
           limiter.sorted_by},
          {{"sustained_tflops", CellType::real, ColumnOf::people, nullptr, drop_order("sustained_tflops")},
           "10^12 operations per second, back to back: tflops * median_us / sustained_us",
           [](const RankedTrial& row) -> Cell {
             const Trial& trial = row.trial;
             if (!trial.tflops || !trial.median_us || !trial.sustained_us) return {};
             return *trial.tflops * *trial.median_us / *trial.sustained_us;
           }}};
}

/// The column that was probably meant: the shortest of those whose name has these words, which underscores
/// separate.
std::string meant_column(const std::string& text) {
  if (text == "time" || text == "time_us") return " Did you mean 'median_us'?";
  std::vector<std::string> known;
  const std::string* shortest = nullptr;
  for (const Field& field : known_fields()) {
    known.push_back(field.name);
    const bool has_words = ("_" + field.name + "_").find("_" + text + "_") != std::string::npos;
    if (has_words && (shortest == nullptr || field.name.size() < shortest->size())) shortest = &field.name;
  }
  return shortest == nullptr ? suggestion(text, known) : fmt::format(" Did you mean '{}'?", *shortest);
}

}  // namespace

std::optional<bool> verified_of(const Trial& trial) {
  if (trial.source != Source::measured || !trial.median_us) return std::nullopt;
  return !is_unverified(trial);
}

const std::vector<Field>& known_fields() {
  static const std::vector<Field> kFields = [] {
    std::vector<Field> fields = added_fields();
    for (const Column& column : trial_columns()) fields.push_back(field_of(column));
    return fields;
  }();
  return kFields;
}

const Field& field_by_name(const std::string& name) {
  const auto found = std::ranges::find(known_fields(), name, &Field::name);
  if (found != known_fields().end()) return *found;
  throw UserError(fmt::format("there is no column '{}'.{}", name, meant_column(name)),
                  "List the columns: tiletune rank --columns list");
}

std::vector<Field> fields_by_name(const std::vector<std::string>& names) {
  std::vector<Field> fields;
  for (const std::string& name : names) fields.push_back(field_by_name(name));
  return fields;
}

std::vector<Field> comparable_fields(const std::vector<std::string>& names) {
  const auto leading = comparable_columns();
  std::vector<std::string> all(leading.begin(), leading.end());
  all.insert(all.end(), names.begin(), names.end());
  return fields_by_name(all);
}

Field time_field(Source source) {
  return {{source == Source::predicted ? "predicted_us" : "median_us", CellType::real},
          "",
          [](const RankedTrial& row) -> Cell { return *ranking_time_us(row.trial); }};
}

Field result_field(bool any_unverified) {
  return {{"result"}, "", [any_unverified](const RankedTrial& row) -> Cell {
            const auto verified = any_unverified ? verified_of(row.trial) : std::nullopt;
            return !verified ? Cell() : *verified ? "verified" : "unverified";
          }};
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

std::string parameters_text(const Trial& trial) {
  return trial.kind == "baseline" ? "(baseline)" : human_text(trial.parameters, CellType::json);
}

std::vector<std::string> unverified_lines(std::size_t rows) {
  if (rows == 0) return {};
  return {fmt::format("unverified: the results of {} were compared with nothing", counted(rows, "row"))};
}

int drop_order(std::string_view column, std::span<const std::string_view> dropped) {
  const auto place = std::find(dropped.begin(), dropped.end(), column);
  return place == dropped.end() ? 0 : static_cast<int>(place - dropped.begin()) + 1;
}

TextTable table_of_columns() {
  TextTable table;
  table.add_columns({"column", "meaning"}, Align::left);
  for (const Field& field : known_fields()) table.add_row({field.name, field.meaning});
  return table;
}

namespace {

/// Empty for text that is not an object.
Json parameters_of(const Trial& trial) {
  Json values = parsed_cell(trial.parameters);
  return values.is_object() ? values : Json::object();
}

/// "BM=128 BN=64", of the parameters that others lack.
std::string assignments(const Json& values, const Json& others = Json::object()) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : values.items())
    if (!others.contains(name)) texts.push_back(printable(name + "=" + value_text(value)));
  return join(texts, " ");
}

}  // namespace

void VaryingParameters::add(const Trial& trial) {
  if (trial.kind == "baseline") return;
  const Json values = parameters_of(trial);
  Alike& alike = alike_.try_emplace(trial.template_name, Alike{values}).first->second;
  ++alike.rows;
  const std::size_t before = std::max(alike.values.size(), values.size());
  Json equal = Json::object();
  for (const auto& [name, value] : alike.values.items())
    if (values.contains(name) && values.at(name) == value) equal[name] = value;
  alike.values = std::move(equal);
  alike.all = alike.all && alike.values.size() == before;
}

std::string VaryingParameters::of(const Trial& trial) const {
  const auto alike = alike_.find(trial.template_name);
  const Json values = parameters_of(trial);
  if (trial.kind == "baseline" || !is_left_out(alike->second) || values.empty())
    return parameters_text(trial);
  const std::string text = assignments(values, alike->second.values);
  return text.empty() ? "-" : text;
}

Field VaryingParameters::field() const {
  return {{"parameters"}, "", [this](const RankedTrial& row) -> Cell { return of(row.trial); }};
}

std::vector<std::string> VaryingParameters::legend() const {
  std::vector<std::string> lines;
  for (const auto& [name, alike] : alike_)
    if (is_left_out(alike) && !alike.values.empty())
      lines.push_back(fmt::format("in every {} row shown: {}", printable(name), assignments(alike.values)));
  return lines;
}

}  // namespace tiletune
