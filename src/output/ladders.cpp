#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "output/cell_text.h"
#include "output/export.h"
#include "output/views.h"
#include "store/columns.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// What a ladder adds to the columns of its rows.
Field rung_field(const char* name, double LadderRung::*speedup) {
  return {{name, CellType::real, ColumnOf::all, nullptr, drop_order(name)},
          "",
          [speedup](const RankedTrial& row) -> Cell { return row.rung.*speedup; }};
}

Field step_field() {
  ViewColumn column{"step"};
  column.may_be_blank = true;
  return {column, "", [](const RankedTrial& row) -> Cell { return row.rung.step; }};
}

void for_each_rung(const Ladder& ladder, const Database& database,
                   const std::function<void(const RankedTrial&)>& visit) {
  for (const LadderRung& rung : ladder.rungs) visit({database.row(rung.id), 0, false, {}, rung});
}

ViewPage page_of(const Ladder& ladder, const Database& database) {
  const TrialRows rows = [&](const auto& visit) { for_each_rung(ladder, database, visit); };
  Throughput throughput;
  std::size_t unverified = 0;
  rows([&](const RankedTrial& row) {
    throughput.add(row.trial);
    unverified += is_unverified(row.trial) ? 1 : 0;
  });
  std::vector<Field> fields{
      step_field(),
      field_by_name("template"),
      {{"parameters"}, "", [](const RankedTrial& row) -> Cell { return parameters_text(row.trial); }},
      result_field(unverified > 0),
      time_field(ladder.source),
      field_by_name(throughput.column()),
      rung_field("speedup_over_first", &LadderRung::speedup_over_first),
      rung_field("speedup_over_previous", &LadderRung::speedup_over_previous),
      field_by_name("percent_of_baseline")};
  if (std::ranges::all_of(ladder.rungs, &std::string::empty, &LadderRung::step)) fields.erase(fields.begin());
  TextTable table =
      trial_table(fields, rows, [](const RankedTrial& row) { return row.trial.kind == "baseline"; });
  table.hide_empty_columns();
  return {std::move(table), unverified_lines(unverified)};
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

ViewDocument ladders_view(const std::vector<Ladder>& ladders, const Database& database,
                          const std::optional<std::vector<FailureKind>>& failures) {
  std::vector<Field> fields = comparable_fields({"template", "parameters", "median_us", "predicted_us",
                                                 "tflops", "gbs", "percent_of_baseline", "verified"});
  fields.insert(fields.end() - 1, {rung_field("speedup_over_first", &LadderRung::speedup_over_first),
                                   rung_field("speedup_over_previous", &LadderRung::speedup_over_previous)});
  fields.push_back(step_field());
  ViewDocument view{"ladders", "", columns_of(fields)};
  if (failures)
    view.add_head = [&database, kinds = *failures](Json& document) {
      document["failures"] = to_json(kinds, database);
    };
  if (ladders.empty()) view.footer = "No row that ran can be shown in a ladder.\n";
  add_sections(view, std::span(ladders), [&database, fields](const Ladder& ladder) {
    ViewSection section(ladder);
    section.add_facts = [&](Json& facts) {
      facts["rungs"] = Json::array();
      for_each_rung(ladder, database, [&](const RankedTrial& row) {
        Json& object = facts["rungs"].emplace_back();
        object["step"] = row.rung.step.empty() ? Json() : Json(row.rung.step);
        object["speedup_over_first"] = row.rung.speedup_over_first;
        object["speedup_over_previous"] = row.rung.speedup_over_previous;
        object["verified"] = or_null(verified_of(row.trial));
        object.update(to_json(row.trial));
      });
    };
    section.page = [&](std::size_t) { return page_of(ladder, database); };
    section.rows = cells_of(fields, [&](const auto& visit) { for_each_rung(ladder, database, visit); });
    return section;
  });
  return view;
}

}  // namespace tiletune
