#include "output/group_table.h"

#include <fmt/format.h>

#include <functional>

#include "base/text.h"
#include "output/cell_text.h"
#include "output/rankings.h"
#include "output/varying_parameters.h"

namespace tiletune {

namespace {

/// What the rows shown have, which decides the columns.
struct Shown {
  VaryingParameters parameters;
  bool tied = false;
  bool ceiling = false;
  bool sustained = false;

  void add(const RankedTrial& row) {
    parameters.add(row.trial);
    tied = tied || row.tied;
    ceiling = ceiling || row.trial.percent_of_ceiling.has_value();
    sustained = sustained || row.trial.sustained_us.has_value();
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

std::string interval_text(const Trial& trial) {
  if (!trial.ci_low_us || !trial.ci_high_us) return "-";
  return three_digits(*trial.ci_low_us) + ".." + three_digits(*trial.ci_high_us);
}

/// The same work in the time that a launch takes when launches follow each other for seconds.
std::string sustained_tflops_text(const Trial& trial) {
  if (!trial.tflops || !trial.median_us || !trial.sustained_us) return "-";
  return three_digits(*trial.tflops * *trial.median_us / *trial.sustained_us);
}

StandardColumn cell_column(const std::string& name, Align align, const std::string& column) {
  return {name, align, [column](const RankedTrial& row) { return human_cell(row.trial, column); }};
}

StandardColumn number_column(const std::string& name) { return cell_column(name, Align::right, name); }

/// Who it is and what it takes.
std::vector<StandardColumn> identifying_columns(const Shown& shown) {
  const auto rank = [&](const RankedTrial& row) { return rank_text(row, shown.tied); };
  const auto parameters = [&](const RankedTrial& row) { return shown.parameters.of(row.trial); };
  return {{"rank", Align::right, rank},
          cell_column("template", Align::left, "template"),
          {"parameters", Align::left, parameters},
          number_column("registers"),
          number_column("occupancy"),
          cell_column("limiter", Align::left, "occupancy_limiter")};
}

std::vector<StandardColumn> standard_columns(const Shown& shown, Source source) {
  std::vector<StandardColumn> columns = identifying_columns(shown);
  columns.push_back({time_column(source), Align::right,
                     [](const RankedTrial& row) { return three_digits(*ranking_time_us(row.trial)); }});
  if (source != Source::predicted)
    columns.push_back(
        {"ci_us", Align::right, [](const RankedTrial& row) { return interval_text(row.trial); }});
  columns.push_back(number_column("tflops"));
  columns.push_back(number_column("percent_of_baseline"));
  columns.push_back(number_column(shown.ceiling ? "percent_of_ceiling" : "percent_of_peak"));
  if (shown.ceiling) columns.push_back(cell_column("bound", Align::left, "bound"));
  if (!shown.sustained) return columns;
  columns.push_back({"sustained_tflops", Align::right,
                     [](const RankedTrial& row) { return sustained_tflops_text(row.trial); }});
  columns.push_back(number_column("sustained_power_w"));
  return columns;
}

void emphasise(TextTable& table, const RankedTrial& row) {
  if (row.rank <= 1) table.emphasise_last_row();
}

}  // namespace

GroupTable standard_table(const Database& database, const std::vector<RankedRow>& rows, Source source) {
  Shown shown;
  for (const RankedRow& row : rows) shown.add(read_row(database, row));
  const std::vector<StandardColumn> columns = standard_columns(shown, source);
  GroupTable group;
  for (const StandardColumn& column : columns) group.table.add_column(column.name, column.align);
  for (const RankedRow& place : rows) {
    const RankedTrial row = read_row(database, place);
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const StandardColumn& column : columns) cells.push_back(column.text(row));
    group.table.add_row(std::move(cells));
    emphasise(group.table, row);
  }
  group.legend = shown.parameters.legend();
  return group;
}

TextTable table_of(const std::vector<Field>& fields) {
  TextTable table;
  for (const Field& field : fields)
    table.add_column(field.name, field.is_number() ? Align::right : Align::left);
  return table;
}

void add_row(TextTable& table, const std::vector<Field>& fields, const RankedTrial& row) {
  std::vector<std::string> cells;
  cells.reserve(fields.size());
  for (const Field& field : fields) cells.push_back(human_text(field.read(row), field.type));
  table.add_row(std::move(cells));
  emphasise(table, row);
}

}  // namespace tiletune
