#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/csv.h"
#include "output/export.h"
#include "output/group_table.h"
#include "output/rankings.h"
#include "store/columns.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

GroupTable ladder_table(const Ladder& ladder, const Database& database) {
  std::vector<Trial> rungs;
  Throughput throughput;
  for (const LadderRung& rung : ladder.rungs) throughput.add(rungs.emplace_back(database.row(rung.id)));
  const auto unverified = std::count_if(rungs.begin(), rungs.end(), is_unverified);
  const bool has_steps = std::any_of(ladder.rungs.begin(), ladder.rungs.end(),
                                     [](const LadderRung& rung) { return !rung.step.empty(); });
  TextTable table;
  if (has_steps) table.add_column("step", Align::left);
  table.add_column("template", Align::left);
  table.add_column("parameters", Align::left);
  if (unverified > 0) table.add_column("result", Align::left);
  for (const std::string& name :
       {time_column(ladder.source), throughput.column(), std::string("speedup_over_first"),
        std::string("speedup_over_previous"), std::string("percent_of_baseline")}) {
    table.add_column(name, Align::right, drop_order(name));
  }
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const Trial& trial = rungs[i];
    const LadderRung& rung = ladder.rungs[i];
    std::vector<std::string> cells{trial.template_name, parameters_text(trial)};
    if (has_steps) cells.insert(cells.begin(), rung.step);
    if (unverified > 0) cells.push_back(verified_text(trial));
    for (std::string& cell :
         std::vector{three_digits(*ranking_time_us(trial)), human_cell(trial, throughput.column()),
                     three_digits(rung.speedup_over_first), three_digits(rung.speedup_over_previous),
                     human_cell(trial, "percent_of_baseline")})
      cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
    if (trial.kind == "baseline") table.emphasise_last_row();
  }
  table.hide_empty_columns();
  return {std::move(table), {}, static_cast<std::size_t>(unverified)};
}

void write_tables(std::ostream& out, const std::vector<Ladder>& ladders, const Database& database,
                  bool markdown, const TextStyle& style) {
  if (ladders.empty()) out << "No row that ran can be shown in a ladder.\n";
  bool first = true;
  for (const Ladder& ladder : ladders) {
    if (!std::exchange(first, false)) out << '\n';
    const GroupTable shown = ladder_table(ladder, database);
    write_section(out, heading(ladder.problem, ladder.gpu, ladder.source, ladder.conditions),
                  source_banner(ladder.source, ladder.gpu), shown.table, markdown, style);
    write_lines(out, unverified_lines(shown.unverified), markdown, style.width);
  }
}

void write_json(std::ostream& out, const std::vector<Ladder>& ladders, const Database& database,
                const std::optional<std::vector<FailureKind>>& failures) {
  Json document{{"tiletune", kVersion}};
  if (failures) document["failures"] = to_json(*failures, database);
  document["ladders"] = Json::array();
  for (const Ladder& ladder : ladders) {
    Json rungs = Json::array();
    for (const LadderRung& rung : ladder.rungs) {
      Json object = Json::object();
      object["step"] = rung.step.empty() ? Json() : Json(rung.step);
      object["speedup_over_first"] = rung.speedup_over_first;
      object["speedup_over_previous"] = rung.speedup_over_previous;
      const Trial trial = database.row(rung.id);
      const auto verified = verified_of(trial);
      object["verified"] = verified ? Json(*verified) : Json();
      object.update(to_json(trial));
      rungs.push_back(std::move(object));
    }
    Json entry{{"gpu", ladder.gpu}, {"problem", ladder.problem}, {"source", name(ladder.source)}};
    entry["conditions"] = ladder.conditions;
    entry["rungs"] = std::move(rungs);
    document["ladders"].push_back(std::move(entry));
  }
  out << json_text(document, 2) << '\n';
}

void write_csv(std::ostream& out, const std::vector<Ladder>& ladders, const Database& database) {
  const auto leading = comparable_columns();
  std::vector<std::string> names(leading.begin(), leading.end());
  names.insert(names.end(), {"template", "parameters", "median_us", "predicted_us", "tflops", "gbs",
                             "percent_of_baseline"});
  std::vector<std::string> record = names;
  record.insert(record.end(), {"speedup_over_first", "speedup_over_previous", "verified", "step"});
  const Field verified = field_by_name("verified");
  write_csv_record(out, record);
  for (const Ladder& ladder : ladders) {
    for (const LadderRung& rung : ladder.rungs) {
      record.clear();
      const Trial trial = database.row(rung.id);
      for (const std::string& name : names) record.push_back(exact_text(column_by_name(name).read(trial)));
      record.push_back(exact_text(rung.speedup_over_first));
      record.push_back(exact_text(rung.speedup_over_previous));
      record.push_back(exact_text(verified.read({trial, 0, false})));
      record.push_back(rung.step);
      write_csv_record(out, record);
    }
  }
}

/// A step of a config: rows of a template with such values of some parameters.
void add_step(const Json& step, const Database& database, std::vector<LadderStep>& steps) {
  if (!step.is_object()) return;
  const Json name = step.value("name", Json()), of = step.value("template", Json());
  if (!name.is_string() || !of.is_string()) return;
  const auto takes = [&database, wanted = step.value("parameters", Json::object())](std::int64_t row) {
    const Json has = parsed_cell(database.row(row).parameters);
    for (const auto& [parameter, values] : wanted.items()) {
      const auto value = has.find(parameter);
      if (value == has.end() || std::find(values.begin(), values.end(), *value) == values.end()) return false;
    }
    return true;
  };
  steps.push_back({of.get<std::string>(), name.get<std::string>(), takes});
}

}  // namespace

std::vector<LadderStep> ladder_steps(const std::string& config, const Database& database) {
  const Json json = parsed_cell(config);
  if (!json.is_object() || json.value("view", Json()) != "ladder") return {};
  std::vector<LadderStep> steps;
  for (const Json& step : json.value("steps", Json::array())) add_step(step, database, steps);
  if (!steps.empty()) return steps;
  for (const Json& entry : json.value("templates", Json::array())) {
    const Json name = entry.is_object() ? entry.value("template", Json()) : entry;
    if (name.is_string()) steps.push_back({name.get<std::string>(), "", {}});
  }
  return steps;
}

std::vector<LadderStep> ladder_steps(const Database& database) {
  for (const SweepRecord& sweep : database.sweeps()) {
    std::vector<LadderStep> steps = ladder_steps(sweep.config, database);
    if (!steps.empty()) return steps;
  }
  return {};
}

void write_ladders(std::ostream& out, const std::vector<Ladder>& ladders, const Database& database,
                   Format format, const TextStyle& style,
                   const std::optional<std::vector<FailureKind>>& failures) {
  switch (format) {
    case Format::table:
    case Format::markdown:
      return write_tables(out, ladders, database, format == Format::markdown, style);
    case Format::json:
      return write_json(out, ladders, database, failures);
    case Format::csv:
      return write_csv(out, ladders, database);
  }
}

}  // namespace tiletune
