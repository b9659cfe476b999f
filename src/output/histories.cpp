#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/version.h"
#include "output/views.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kPercent = 100;

std::string cost_line(const History& history) {
  std::string line = fmt::format("{}, {:.1f} s of compiling and measuring",
                                 counted(history.evaluations, "evaluation"), history.cost_s);
  if (history.without_cost > 0)
    line += fmt::format("; {} without a recorded cost", counted(history.without_cost, "row"));
  return line;
}

using OfProblem = ImportanceOfProblems::value_type;

Json json_of(const ImportanceOfProblems& importance) {
  Json document{{"tiletune", kVersion}, {"importance", Json::array()}};
  for (const auto& [what, by_template] : importance) {
    Json& facts = document["importance"].emplace_back(ViewSection(what).facts);
    facts["templates"] = importance_json(by_template, "parameters");
  }
  return document;
}

bool says_something(const OfProblem& problem) {
  return std::ranges::any_of(problem.second, [](const auto& one) { return !one.second.shares().empty(); });
}

}  // namespace

ViewDocument histories_view(const std::vector<History>& histories, const Database& database) {
  ViewDocument view{"histories",
                    "steps",
                    {{"evaluation", CellType::integer},
                     {"cost_s", CellType::real, ColumnOf::all, one_decimal},
                     {"best_us", CellType::real},
                     {"percent_of_best", CellType::real, ColumnOf::all, one_decimal},
                     {"template"},
                     {"parameters", CellType::json}},
                    {"gpu", "problem", "source", "conditions"}};
  add_sections(view, std::span(histories), [&database](const History& history) {
    ViewSection section(history);
    section.facts["evaluations"] = history.evaluations;
    section.facts["evaluations_without_cost"] = history.without_cost;
    section.facts["cost_s"] = history.cost_s;
    section.rows = [&](const auto& visit) {
      for (const HistoryStep& step : history.steps) {
        const Trial trial = database.row(step.id);
        visit({count_cell(step.evaluation), step.cost_s, step.best_us,
               kPercent * history.steps.back().best_us / step.best_us, trial.template_name,
               trial.parameters});
      }
    };
    section.lines = {cost_line(history)};
    return section;
  });
  return view;
}

ViewDocument importance_view(const ImportanceOfProblems& importance) {
  std::vector<const OfProblem*> shown;
  for (const OfProblem& problem : importance)
    if (says_something(problem)) shown.push_back(&problem);
  if (shown.empty())
    throw NothingToDo("no parameter can be compared",
                      "It takes several configurations with different times.");
  ViewDocument view{"importance",
                    "",
                    {{"template", CellType::text, ColumnOf::people},
                     {"template", CellType::text, ColumnOf::csv},
                     {"parameter"},
                     {"share_percent", CellType::real, ColumnOf::people, one_decimal},
                     {"share", CellType::real, ColumnOf::csv},
                     {"values", CellType::integer},
                     {"best"},
                     {"worst_to_best", CellType::real}},
                    {"gpu", "problem", "source", "conditions"}};
  view.json = [&importance] { return json_of(importance); };
  add_sections(view, std::move(shown), [](const OfProblem* problem) {
    ViewSection section(problem->first);
    section.rows = [problem](const auto& visit) {
      for (const auto& [name, one] : problem->second) {
        for (const ParameterImportance& share : one.shares())
          visit({name.empty() ? "(all)" : name, name, share.name, kPercent * share.share, share.share,
                 count_cell(share.values), share.best, share.worst_to_best});
      }
    };
    return section;
  });
  return view;
}

}  // namespace tiletune
