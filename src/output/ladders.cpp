#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/text.h"
#include "output/cell_text.h"
#include "output/export.h"
#include "output/group_table.h"
#include "output/views.h"
#include "store/columns.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

ViewPage page_of(const Ladder& ladder, const Database& database) {
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
  return {{std::move(table)}, unverified_lines(static_cast<std::size_t>(unverified))};
}

void add_rungs(Json& facts, const Ladder& ladder, const Database& database) {
  facts["rungs"] = Json::array();
  for (const LadderRung& rung : ladder.rungs) {
    Json& object = facts["rungs"].emplace_back();
    object["step"] = rung.step.empty() ? Json() : Json(rung.step);
    object["speedup_over_first"] = rung.speedup_over_first;
    object["speedup_over_previous"] = rung.speedup_over_previous;
    const Trial trial = database.row(rung.id);
    object["verified"] = or_null(verified_of(trial));
    object.update(to_json(trial));
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

ViewDocument ladders_view(const std::vector<Ladder>& ladders, const Database& database,
                          const std::optional<std::vector<FailureKind>>& failures) {
  const auto leading = comparable_columns();
  std::vector<std::string> names(leading.begin(), leading.end());
  names.insert(names.end(), {"template", "parameters", "median_us", "predicted_us", "tflops", "gbs",
                             "percent_of_baseline"});
  const std::vector<Field> fields = fields_by_name(names);
  ViewDocument view{"ladders", "", columns_of(fields)};
  for (const char* name : {"speedup_over_first", "speedup_over_previous"})
    view.columns.push_back({name, CellType::real});
  view.columns.push_back(column_of(field_by_name("verified")));
  view.columns.push_back({"step"});
  if (failures) view.head["failures"] = to_json(*failures, database);
  if (ladders.empty()) view.footer = "No row that ran can be shown in a ladder.\n";
  add_sections(view, std::span(ladders), [&database, fields](const Ladder& ladder) {
    ViewSection section(ladder);
    section.add_facts = [&](Json& facts) { add_rungs(facts, ladder, database); };
    section.page = [&] { return page_of(ladder, database); };
    section.rows = [&](const auto& visit) {
      for (const LadderRung& rung : ladder.rungs) {
        const RankedTrial trial{database.row(rung.id), 0, false};
        ViewRow row = cells_of(trial, fields);
        row.insert(row.end(), {rung.speedup_over_first, rung.speedup_over_previous,
                               field_by_name("verified").read(trial), rung.step});
        visit(row);
      }
    };
    return section;
  });
  return view;
}

}  // namespace tiletune
