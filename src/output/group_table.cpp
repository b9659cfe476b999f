#include "output/group_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/text.h"
#include "output/cell_text.h"
#include "output/display.h"
#include "output/fields.h"

namespace tiletune {

namespace {

/// What the rows shown have, which decides the columns.
struct Shown {
  VaryingParameters parameters;
  Throughput throughput;
  bool tied = false;
  bool ceiling = false;
  std::size_t unverified = 0;

  void add(const RankedTrial& row) {
    parameters.add(row.trial);
    throughput.add(row.trial);
    tied = tied || row.tied;
    ceiling = ceiling || row.trial.percent_of_ceiling.has_value();
    unverified += is_unverified(row.trial) ? 1 : 0;
  }
};

struct StandardColumn {
  std::string name;
  Align align;
  std::function<std::string(const RankedTrial&)> text;
};

std::string rank_text(const RankedTrial& row, bool any_tied) {
  if (row.rank == 0) return any_tied ? "- " : "-";
  return fmt::format("{}{}", row.rank, row.tied ? "=" : (any_tied ? " " : ""));
}

StandardColumn field_column(const std::string& name, Align align = Align::right) {
  const Field field = field_by_name(name);
  return {name, align, [field](const RankedTrial& row) { return human_text(field.read(row), field.type); }};
}

/// Who it is and what it takes.
std::vector<StandardColumn> identifying_columns(const Shown& shown) {
  const auto rank = [&](const RankedTrial& row) { return rank_text(row, shown.tied); };
  const auto parameters = [&](const RankedTrial& row) { return shown.parameters.of(row.trial); };
  return {{"rank", Align::right, rank},
          field_column("template", Align::left),
          {"parameters", Align::left, parameters},
          field_column("registers"),
          field_column("occupancy"),
          field_column("limiter", Align::left)};
}

std::vector<StandardColumn> standard_columns(const Shown& shown, Source source) {
  std::vector<StandardColumn> columns = identifying_columns(shown);
  columns.push_back({time_column(source), Align::right,
                     [](const RankedTrial& row) { return three_digits(*ranking_time_us(row.trial)); }});
  if (shown.unverified > 0)
    columns.push_back(
        {"result", Align::left, [](const RankedTrial& row) { return verified_text(row.trial); }});
  if (source != Source::predicted) columns.push_back(field_column("ci_us"));
  columns.push_back(field_column(shown.throughput.column()));
  columns.push_back(field_column("percent_of_baseline"));
  if (shown.throughput.is_of_memory()) {
    columns.push_back(field_column("percent_of_copy"));
  } else {
    columns.push_back(field_column(shown.ceiling ? "percent_of_ceiling" : "percent_of_peak"));
    if (shown.ceiling) columns.push_back(field_column("bound", Align::left));
  }
  columns.push_back(field_column("sustained_tflops"));
  columns.push_back(field_column("sustained_power_w"));
  columns.push_back(field_column("with_copies_us"));
  return columns;
}

}  // namespace

void Throughput::add(const Trial& trial) {
  of_memory_ = of_memory_ || (trial.bound == "memory" && trial.gbs);
  of_arithmetic_ = of_arithmetic_ || trial.bound == "compute";
}

std::string verified_text(const Trial& trial) {
  const auto verified = verified_of(trial);
  if (!verified) return "-";
  return *verified ? "verified" : "unverified";
}

std::vector<std::string> unverified_lines(std::size_t rows) {
  if (rows == 0) return {};
  return {fmt::format("unverified: the results of {} were compared with nothing", counted(rows, "row"))};
}

GroupTable standard_table(const Database& database, const std::vector<RankedRow>& rows, Source source) {
  Shown shown;
  for (const RankedRow& row : rows) shown.add(read_row(database, row));
  const std::vector<StandardColumn> columns = standard_columns(shown, source);
  GroupTable group;
  for (const StandardColumn& column : columns)
    group.table.add_column(column.name, column.align, drop_order(column.name));
  for (const RankedRow& place : rows) {
    const RankedTrial row = read_row(database, place);
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const StandardColumn& column : columns) cells.push_back(column.text(row));
    group.table.add_row(std::move(cells));
    if (row.rank <= 1) group.table.emphasise_last_row();
  }
  group.table.hide_empty_columns();
  group.legend = shown.parameters.legend();
  group.unverified = shown.unverified;
  return group;
}

std::span<const std::string_view> dropped_columns() {
  static constexpr std::array<std::string_view, 20> kNames{"limiter",
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
  return kNames;
}

int drop_order(std::string_view column, std::span<const std::string_view> dropped) {
  const auto place = std::find(dropped.begin(), dropped.end(), column);
  return place == dropped.end() ? 0 : static_cast<int>(place - dropped.begin()) + 1;
}

TextTable table_of_columns() {
  TextTable table;
  table.add_column("column", Align::left);
  table.add_column("meaning", Align::left);
  for (const Field& field : known_fields()) table.add_row({field.name, field.meaning});
  return table;
}

namespace {

using Json = nlohmann::ordered_json;

/// Empty for text that is not an object.
Json parsed(const Trial& trial) {
  Json values = parsed_cell(trial.parameters);
  return values.is_object() ? values : Json::object();
}

/// Whether there is another.
bool keep_equal(Json& kept, const Json& other) {
  std::vector<std::string> different;
  for (const auto& [name, value] : kept.items()) {
    if (!other.contains(name) || other.at(name) != value) different.push_back(name);
  }
  for (const std::string& name : different) kept.erase(name);
  return !different.empty() || other.size() != kept.size();
}

std::string assignment(const std::string& name, const Json& value) {
  return printable(name + "=" + value_text(value));
}

}  // namespace

void VaryingParameters::add(const Trial& trial) {
  if (trial.kind == "baseline") return;
  const Json values = parsed(trial);
  const auto [place, is_first] = alike_.try_emplace(trial.template_name, Alike{values});
  ++place->second.rows;
  if (!is_first && keep_equal(place->second.values, values)) place->second.all = false;
}

bool VaryingParameters::is_left_out(const Alike& alike) const {
  return alike.rows > 1 && !(alike.all && all_alike_ == AllAlike::in_rows);
}

std::string VaryingParameters::of(const Trial& trial) const {
  if (trial.kind == "baseline") return parameters_text(trial);
  const Json values = parsed(trial);
  const Alike& alike = alike_.at(trial.template_name);
  if (!is_left_out(alike) || values.empty()) return parameters_text(trial);
  std::string text;
  for (const auto& [name, value] : values.items()) {
    if (!alike.values.contains(name))
      text += fmt::format("{}{}", text.empty() ? "" : " ", assignment(name, value));
  }
  return text.empty() ? "-" : text;
}

std::vector<std::string> VaryingParameters::legend() const {
  std::vector<std::string> lines;
  for (const auto& [name, alike] : alike_) {
    if (!is_left_out(alike) || alike.values.empty()) continue;
    std::string line = "in every " + printable(name) + " row shown:";
    for (const auto& [parameter, value] : alike.values.items())
      line += fmt::format(" {}", assignment(parameter, value));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tiletune
