#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "output/views.h"

namespace tiletune {

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
               100 * history.steps.back().best_us / step.best_us, trial.template_name, trial.parameters});
      }
    };
    section.lines = {fmt::format("{}, {:.1f} s of compiling and measuring",
                                 counted(history.evaluations, "evaluation"), history.cost_s)};
    if (history.without_cost > 0)
      section.lines.front() +=
          fmt::format("; {} without a recorded cost", counted(history.without_cost, "row"));
    return section;
  });
  return view;
}

ViewDocument importance_view(const ImportanceOfProblems& importance) {
  using OfProblem = ImportanceOfProblems::value_type;
  const auto says_something = [](const OfProblem& problem) {
    return std::ranges::any_of(problem.second, [](const auto& one) { return !one.second.shares().empty(); });
  };
  if (std::ranges::none_of(importance, says_something))
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
  std::vector<const OfProblem*> problems;
  for (const OfProblem& problem : importance) problems.push_back(&problem);
  add_sections(view, std::move(problems), [says_something](const OfProblem* problem) {
    ViewSection section(problem->first);
    section.is_for_people = says_something(*problem);
    section.facts["templates"] = importance_json(problem->second, "parameters");
    section.rows = [problem](const auto& visit) {
      for (const auto& [name, one] : problem->second) {
        for (const ParameterImportance& share : one.shares())
          visit({name.empty() ? "(all)" : name, name, share.name, 100 * share.share, share.share,
                 count_cell(share.values), share.best, share.worst_to_best});
      }
    };
    return section;
  });
  return view;
}

}  // namespace tiletune
