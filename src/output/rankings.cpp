#include "output/rankings.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/csv.h"
#include "output/display.h"
#include "output/export.h"
#include "output/fields.h"
#include "output/json_stream.h"
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

void write_table(std::ostream& out, const TextTable& table, bool markdown, bool colour) {
  if (markdown) return table.write_markdown(out);
  table.write_text(out, colour);
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

std::vector<std::string> standard_cells(const RankedTrial& row, bool any_tied,
                                        const VaryingParameters& parameters) {
  const Trial& trial = row.trial;
  std::vector<std::string> cells{rank_text(row, any_tied),
                                 trial.template_name,
                                 parameters.of(trial),
                                 human_cell(trial, "registers"),
                                 human_cell(trial, "occupancy"),
                                 human_cell(trial, "occupancy_limiter"),
                                 three_digits(*ranking_time_us(trial))};
  if (trial.source != Source::predicted) cells.push_back(interval_text(trial));
  for (const char* name : {"tflops", "percent_of_baseline", "percent_of_peak"}) {
    cells.push_back(human_cell(trial, name));
  }
  return cells;
}

TextTable standard_table(const Database& database, const std::vector<RankedRow>& rows, Source source,
                         const VaryingParameters& parameters) {
  const bool any_tied = std::any_of(rows.begin(), rows.end(), [](const RankedRow& row) { return row.tied; });
  TextTable table;
  add_standard_columns(table, time_column(source), source != Source::predicted);
  for (const RankedRow& place : rows) {
    const RankedTrial row = read_row(database, place);
    table.add_row(standard_cells(row, any_tied, parameters));
    emphasise(table, row);
  }
  return table;
}

TextTable empty_table(const std::vector<Field>& fields) {
  TextTable table;
  for (const Field& field : fields)
    table.add_column(field.name, field.is_number() ? Align::right : Align::left);
  return table;
}

void add_chosen(TextTable& table, const std::vector<Field>& fields, const RankedTrial& row) {
  std::vector<std::string> cells;
  cells.reserve(fields.size());
  for (const Field& field : fields) cells.push_back(human_text(field.read(row), field.type));
  table.add_row(std::move(cells));
  emphasise(table, row);
}

TextTable chosen_table(const Database& database, const std::vector<RankedRow>& rows,
                       const std::vector<Field>& fields) {
  TextTable table = empty_table(fields);
  for (const RankedRow& row : rows) add_chosen(table, fields, read_row(database, row));
  return table;
}

void write_group(std::ostream& out, const RankingGroup& group, const Database& database,
                 const std::vector<RankedRow>& rows, const std::vector<Field>& fields, bool markdown,
                 bool colour) {
  const std::string title = heading(group.problem, group.gpu, group.source, group.conditions);
  const std::string banner = source_banner(group.source, group.gpu);
  if (!fields.empty()) {
    return write_section(out, title, banner, chosen_table(database, rows, fields), markdown, colour);
  }
  VaryingParameters parameters;
  for (const RankedRow& row : rows) parameters.add(database.row(row.id));
  write_section(out, title, banner, standard_table(database, rows, group.source, parameters), markdown,
                colour);
  for (const std::string& line : parameters.legend())
    out << (markdown ? "\n" + markdown_text(line) : line) << '\n';
}

void write_tables(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
                  bool markdown, const RankingView& view) {
  const std::vector<Field> fields = fields_by_name(view.columns);
  const SortOrder order = sort_order(view.sort_by);
  if (groups.empty()) out << "No row ran and can be ranked.\n";
  bool first = true;
  for (const RankingGroup& group : groups) {
    if (!std::exchange(first, false)) out << '\n';
    const std::vector<RankedRow> rows = shown_rows(database, group, order, view.limit);
    write_group(out, group, database, rows, fields, markdown, view.colour);
    const std::size_t hidden = group.rows.size() - rows.size();
    if (hidden != 0) out << fmt::format("{}{} more rows not shown\n", markdown ? "\n" : "", hidden);
  }
}

Json as_json(const RankedTrial& row, const std::vector<Field>& fields) {
  Json object = Json::object();
  for (const Field& field : fields) object[field.name] = json_of(field.read(row), field.type);
  if (object.contains("tied")) object["tied"] = row.tied;
  return object;
}

void write_json(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
                const RankingView& view) {
  const std::vector<Field> fields = view.columns.empty() ? all_fields() : fields_by_name(view.columns);
  const SortOrder order = sort_order(view.sort_by);
  JsonArrayStream document(out, {{"tiletune", kVersion}, {"groups", Json::array()}}, 2);
  for (const RankingGroup& group : groups) {
    JsonArrayStream rows(document, {{"gpu", group.gpu},
                                    {"problem", group.problem},
                                    {"source", name(group.source)},
                                    {"conditions", group.conditions},
                                    {"total_rows", group.rows.size()},
                                    {"rows", Json::array()}});
    for (const RankedRow& row : shown_rows(database, group, order, view.limit)) {
      rows.add(as_json(read_row(database, row), fields));
    }
    rows.end();
  }
  document.end();
  out << '\n';
}

/// What tells groups apart leads every record, chosen or not.
std::vector<Field> csv_fields(const RankingView& view) {
  const auto leading = comparable_columns();
  std::vector<Field> fields = fields_by_name({leading.begin(), leading.end()});
  for (Field& field : view.columns.empty() ? all_fields() : fields_by_name(view.columns)) {
    const bool there =
        std::any_of(fields.begin(), fields.end(), [&](const Field& f) { return f.name == field.name; });
    if (!there) fields.push_back(std::move(field));
  }
  return fields;
}

std::vector<std::string> csv_record(const RankedTrial& row, const std::vector<Field>& fields) {
  std::vector<std::string> record;
  record.reserve(fields.size());
  for (const Field& field : fields) record.push_back(exact_text(field.read(row)));
  return record;
}

void write_csv_header(std::ostream& out, const std::vector<Field>& fields) {
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const Field& field : fields) names.push_back(field.name);
  write_csv_record(out, names);
}

/// One table of all groups.
void write_csv(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
               const RankingView& view) {
  const SortOrder order = sort_order(view.sort_by);
  const std::vector<Field> fields = csv_fields(view);
  write_csv_header(out, fields);
  for (const RankingGroup& group : groups) {
    for (const RankedRow& row : shown_rows(database, group, order, view.limit)) {
      write_csv_record(out, csv_record(read_row(database, row), fields));
    }
  }
}

std::int64_t count_rows(const Database& database, const TrialFilter& filter) {
  std::int64_t total = 0;
  for (const auto& [outcome, count] : database.outcome_counts(filter)) total += count;
  return total;
}

/// Visits at most `limit` rows (0: all).
void for_each_shown(const Database& database, const TrialFilter& filter, std::size_t limit,
                    const std::function<void(const RankedTrial&)>& visit) {
  std::size_t shown = 0;
  database.for_each(filter, [&](const Trial& trial) {
    visit({trial, 0, false});
    return ++shown != limit;
  });
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
  write_table(out, table, markdown, colour);
}

void write_trials(std::ostream& out, const Database& database, const TrialFilter& filter, Format format,
                  const std::vector<std::string>& columns, std::size_t limit) {
  const std::vector<Field> fields = fields_by_name(columns);
  const auto total = static_cast<std::size_t>(count_rows(database, filter));
  if (format == Format::json) {
    JsonArrayStream trials(out, {{"tiletune", kVersion}, {"total_rows", total}, {"trials", Json::array()}},
                           2);
    for_each_shown(database, filter, limit, [&](const RankedTrial& row) { trials.add(to_json(row.trial)); });
    trials.end();
    out << '\n';
  } else if (format == Format::csv) {
    write_csv_header(out, fields);
    for_each_shown(database, filter, limit,
                   [&](const RankedTrial& row) { write_csv_record(out, csv_record(row, fields)); });
  } else {
    TextTable table = empty_table(fields);
    for_each_shown(database, filter, limit, [&](const RankedTrial& row) { add_chosen(table, fields, row); });
    write_table(out, table, format == Format::markdown, false);
    if (limit != 0 && limit < total) out << fmt::format("{} more rows not shown\n", total - limit);
  }
}

void write_rankings(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
                    Format format, const RankingView& view) {
  switch (format) {
    case Format::table:
    case Format::markdown:
      return write_tables(out, groups, database, format == Format::markdown, view);
    case Format::json:
      return write_json(out, groups, database, view);
    case Format::csv:
      return write_csv(out, groups, database, view);
  }
}

}  // namespace tiletune
