#include "output/rankings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/csv.h"
#include "output/display.h"
#include "output/export.h"
#include "output/fields.h"
#include "output/varying_parameters.h"
#include "store/columns.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

std::string rank_text(const RankedTrial& row, bool any_tied) {
  if (row.rank == 0) return any_tied ? "- " : "-";
  return fmt::format("{}{}", row.rank, row.tied ? "=" : (any_tied ? " " : ""));
}

std::string interval_text(const Trial& trial) {
  if (!trial.ci_low_us || !trial.ci_high_us) return "-";
  return three_digits(*trial.ci_low_us) + ".." + three_digits(*trial.ci_high_us);
}

void emphasise(TextTable& table, const RankedTrial& row) {
  if (row.rank <= 1) table.emphasise_last_row();
}

void add_standard_columns(TextTable& table, const std::string& time, bool intervals) {
  table.add_column("rank", Align::right);
  table.add_column("template", Align::left);
  table.add_column("parameters", Align::left);
  table.add_column("registers", Align::right);
  table.add_column("occupancy", Align::right);
  table.add_column("limiter", Align::left);
  table.add_column(time, Align::right);
  if (intervals) table.add_column("ci_us", Align::right);
  for (const char* name : {"tflops", "percent_of_baseline", "percent_of_peak"})
    table.add_column(name, Align::right);
}

TextTable standard_table(const std::vector<RankedTrial>& rows, Source source,
                         const VaryingParameters& parameters) {
  const bool intervals = source != Source::predicted;
  const bool any_tied =
      std::any_of(rows.begin(), rows.end(), [](const RankedTrial& row) { return row.tied; });
  TextTable table;
  add_standard_columns(table, time_column(source), intervals);
  for (const RankedTrial& row : rows) {
    const Trial& trial = row.trial;
    std::vector<std::string> cells{rank_text(row, any_tied),
                                   trial.template_name,
                                   parameters.of(trial),
                                   human_cell(trial, "registers"),
                                   human_cell(trial, "occupancy"),
                                   human_cell(trial, "occupancy_limiter"),
                                   three_digits(*ranking_time_us(trial))};
    if (intervals) cells.push_back(interval_text(trial));
    for (const char* name : {"tflops", "percent_of_baseline", "percent_of_peak"}) {
      cells.push_back(human_cell(trial, name));
    }
    table.add_row(std::move(cells));
    emphasise(table, row);
  }
  return table;
}

TextTable chosen_table(const std::vector<RankedTrial>& rows, const std::vector<Field>& fields) {
  TextTable table;
  for (const Field& field : fields)
    table.add_column(field.name, field.is_number() ? Align::right : Align::left);
  for (const RankedTrial& row : rows) {
    std::vector<std::string> cells;
    cells.reserve(fields.size());
    for (const Field& field : fields) cells.push_back(human_text(field.read(row), field.type));
    table.add_row(std::move(cells));
    emphasise(table, row);
  }
  return table;
}

void write_tables(std::ostream& out, const std::vector<RankingGroup>& groups, bool markdown,
                  const RankingView& view) {
  if (groups.empty()) out << "No row ran and can be ranked.\n";
  const std::vector<Field> fields = fields_by_name(view.columns);
  const SortOrder order = sort_order(view.sort_by);
  bool first = true;
  for (const RankingGroup& group : groups) {
    if (!std::exchange(first, false)) out << '\n';
    const std::vector<RankedTrial> rows = shown_rows(group, order, view.limit);
    const VaryingParameters parameters(rows);
    const bool standard = fields.empty();
    write_section(out, heading(group.problem, group.gpu, group.source, group.conditions),
                  source_banner(group.source, group.gpu),
                  standard ? standard_table(rows, group.source, parameters) : chosen_table(rows, fields),
                  markdown, view.colour);
    if (standard) {
      for (const std::string& line : parameters.legend())
        out << (markdown ? "\n" + markdown_text(line) : line) << '\n';
    }
    const std::size_t hidden = group.rows.size() - rows.size();
    if (hidden != 0) out << fmt::format("{}{} more rows not shown\n", markdown ? "\n" : "", hidden);
  }
}

void write_json(std::ostream& out, const std::vector<RankingGroup>& groups, const RankingView& view) {
  const std::vector<Field> fields = view.columns.empty() ? all_fields() : fields_by_name(view.columns);
  const SortOrder order = sort_order(view.sort_by);
  Json document{{"tiletune", kVersion}, {"groups", Json::array()}};
  for (const RankingGroup& group : groups) {
    Json rows = Json::array();
    for (const RankedTrial& row : shown_rows(group, order, view.limit)) {
      Json object = Json::object();
      for (const Field& field : fields) object[field.name] = json_of(field.read(row), field.type);
      if (object.contains("tied")) object["tied"] = row.tied;
      rows.push_back(std::move(object));
    }
    Json entry{{"gpu", group.gpu}, {"problem", group.problem}, {"source", name(group.source)}};
    entry["conditions"] = group.conditions;
    entry["total_rows"] = group.rows.size();
    entry["rows"] = std::move(rows);
    document["groups"].push_back(std::move(entry));
  }
  out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

/// One table of all groups; what tells them apart leads every record, chosen or not.
void write_csv(std::ostream& out, const std::vector<RankingGroup>& groups, const RankingView& view) {
  const SortOrder order = sort_order(view.sort_by);
  const auto leading = comparable_columns();
  std::vector<Field> fields = fields_by_name({leading.begin(), leading.end()});
  for (Field& field : view.columns.empty() ? all_fields() : fields_by_name(view.columns)) {
    const bool there =
        std::any_of(fields.begin(), fields.end(), [&](const Field& f) { return f.name == field.name; });
    if (!there) fields.push_back(std::move(field));
  }
  std::vector<std::string> record;
  record.reserve(fields.size());
  for (const Field& field : fields) record.push_back(field.name);
  write_csv_record(out, record);
  for (const RankingGroup& group : groups) {
    for (const RankedTrial& row : shown_rows(group, order, view.limit)) {
      record.clear();
      for (const Field& field : fields) record.push_back(exact_text(field.read(row)));
      write_csv_record(out, record);
    }
  }
}

}  // namespace

std::string heading(const std::string& problem, const std::string& gpu, Source source,
                    const std::string& conditions) {
  const std::string under = conditions.empty() ? "" : fmt::format(" ({})", conditions);
  return printable(fmt::format("{} on {}, {}{}", problem, gpu, name(source), under));
}

std::string parameters_text(const Trial& trial) {
  if (trial.kind == "baseline" && trial.parameters.empty()) return "(baseline)";
  return human_cell(trial, "parameters");
}

std::string time_column(Source source) { return source == Source::predicted ? "predicted_us" : "median_us"; }

std::string human_cell(const Trial& trial, const std::string& column_name) {
  const Column& column = column_by_name(column_name);
  return human_text(column.read(trial), column.type);
}

void write_section(std::ostream& out, const std::string& title, const std::string& banner,
                   const TextTable& table, bool markdown, bool colour) {
  const auto shown = [&](const std::string& text) { return markdown ? markdown_text(text) : text; };
  out << (markdown ? "### " : "") << shown(title) << (markdown ? "\n\n" : "\n");
  if (!banner.empty())
    out << (markdown ? "**" : "") << shown(printable(banner)) << (markdown ? "**\n\n" : "\n");
  out << (markdown ? table.markdown() : table.text(colour));
}

void write_trials(std::ostream& out, const std::vector<Trial>& trials, Format format,
                  const std::vector<std::string>& columns, std::size_t limit) {
  std::vector<RankedTrial> rows;
  for (const Trial& trial : trials) {
    if (limit != 0 && rows.size() == limit) break;
    rows.push_back({trial, 0, false});
  }
  const std::vector<Field> fields = fields_by_name(columns);
  if (format == Format::json) {
    Json list = Json::array();
    for (const RankedTrial& row : rows) list.push_back(to_json(row.trial));
    out << Json{{"tiletune", kVersion}, {"total_rows", trials.size()}, {"trials", list}}.dump(
               2, ' ', false, Json::error_handler_t::replace)
        << '\n';
  } else if (format == Format::csv) {
    write_csv_record(out, columns);
    for (const RankedTrial& row : rows) {
      std::vector<std::string> record;
      record.reserve(fields.size());
      for (const Field& field : fields) record.push_back(exact_text(field.read(row)));
      write_csv_record(out, record);
    }
  } else {
    const TextTable table = chosen_table(rows, fields);
    out << (format == Format::markdown ? table.markdown() : table.text(false));
    if (rows.size() < trials.size())
      out << fmt::format("{} more rows not shown\n", trials.size() - rows.size());
  }
}

void write_rankings(std::ostream& out, const std::vector<RankingGroup>& groups, Format format,
                    const RankingView& view) {
  switch (format) {
    case Format::table:
    case Format::markdown:
      return write_tables(out, groups, format == Format::markdown, view);
    case Format::json:
      return write_json(out, groups, view);
    case Format::csv:
      return write_csv(out, groups, view);
  }
}

}  // namespace tiletune
