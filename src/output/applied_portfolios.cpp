#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/display.h"
#include "output/views.h"
#include "rank/portfolio.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

std::string result_text(const AppliedProblem& problem) {
  switch (problem.applied) {
    case Applied::judged:
      return "measured";
    case Applied::unmeasured:
      return "not_measured";
    case Applied::failed:
      return problem.outcome;
    case Applied::none:
      return "no_kernel";
  }
  return {};
}

struct Regrets {
  RegretSummary chosen;
  RegretSummary least;  ///< of the portfolio's best kernel
};

/// Those that were not judged count as unmeasured.
Regrets regrets_of(const AppliedPortfolio& applied) {
  std::vector<double> chosen;
  std::vector<double> least;
  for (const AppliedProblem& problem : applied.problems) {
    chosen.push_back(problem.regret);
    least.push_back(problem.least_regret);
  }
  return {summarise_regrets(chosen), summarise_regrets(least)};
}

std::string quantiles_text(const RegretSummary& summary) {
  if (summary.problems == 0) return "none";
  return fmt::format("median {}%, 90th percentile {}%, maximum {}%", regret_text(summary.median),
                     regret_text(summary.percentile_90), regret_text(summary.maximum));
}

std::vector<ViewColumn> applied_columns() {
  return {{"problem"},
          {"best_us", CellType::real},
          {"configurations", CellType::integer},
          {"kernel", CellType::integer, ColumnOf::people},
          {"kernel", CellType::integer, ColumnOf::programs},
          {"template", CellType::text, ColumnOf::csv},
          {"parameters", CellType::text, ColumnOf::csv},
          {"regret_percent", CellType::real, ColumnOf::all, percent_text},
          {"least_regret_percent", CellType::real, ColumnOf::all, percent_text},
          {"result"}};
}

ViewRows problem_rows(const AppliedPortfolio& applied) {
  return [&applied](const auto& visit) {
    for (const AppliedProblem& problem : applied.problems) {
      const auto& place = problem.kernel;
      const Trial kernel = place ? applied.portfolio.kernels[*place] : Trial();
      visit({problem.label, problem.best_us, count_cell(problem.configurations),
             place ? count_cell(*place + 1) : Cell(), count_cell(place), kernel.template_name,
             kernel.parameters, 100 * problem.regret, 100 * problem.least_regret, result_text(problem)});
    }
  };
}

TextTable kernels_table(const AppliedPortfolio& applied) {
  std::vector<std::optional<std::size_t>> choices;
  for (const AppliedProblem& problem : applied.problems) choices.push_back(problem.kernel);
  return chosen_kernels_table(applied.portfolio.kernels, choices);
}

/// "2 problems are not judged: the chosen kernel was not measured at 64x64x64, 128x64x64"
void add_not_judged(const AppliedPortfolio& applied, Applied why, const char* text,
                    std::vector<std::string>& lines) {
  std::vector<std::string> labels;
  for (const AppliedProblem& problem : applied.problems) {
    if (problem.applied == why) labels.push_back(printable(problem.label));
  }
  if (labels.empty()) return;
  lines.push_back(fmt::format("{} {} not judged: {} at {}", counted(labels.size(), "problem"),
                              labels.size() == 1 ? "is" : "are", text, first_of(labels)));
}

std::vector<std::string> lines_of(const AppliedPortfolio& applied) {
  const Regrets regrets = regrets_of(applied);
  std::vector<std::string> lines{
      fmt::format("the chosen kernel, on {} of {}: regret {}", regrets.chosen.problems,
                  counted(applied.problems.size(), "problem"), quantiles_text(regrets.chosen)),
      fmt::format("the best of the kernels, on {}: regret {}", regrets.least.problems,
                  quantiles_text(regrets.least))};
  const auto fewer = [](const AppliedProblem& a, const AppliedProblem& b) {
    return a.configurations < b.configurations;
  };
  const auto [few, many] = std::minmax_element(applied.problems.begin(), applied.problems.end(), fewer);
  lines.push_back(fmt::format("the regret refers to the fastest of the configurations measured there: {}",
                              few->configurations == many->configurations
                                  ? std::to_string(few->configurations)
                                  : fmt::format("{} to {}", few->configurations, many->configurations)));
  add_not_judged(applied, Applied::unmeasured, "the chosen kernel was not measured", lines);
  add_not_judged(applied, Applied::failed, "the chosen kernel failed", lines);
  add_not_judged(applied, Applied::none, "no kernel's constraints hold", lines);
  const ExportedPortfolio& portfolio = applied.portfolio;
  if (portfolio.gpu != applied.what.gpu)
    lines.push_back(fmt::format("the kernels were chosen on {}", printable(portfolio.gpu)));
  if (portfolio.source != applied.what.source)
    lines.push_back(fmt::format("the kernels were chosen by {} times", name(portfolio.source)));
  return lines;
}

std::string without_text(const Comparable& what) {
  return fmt::format("no portfolio for {}, {} ({})", printable(what.gpu), name(what.source),
                     printable(what.conditions));
}

Json summary_json(const RegretSummary& summary) {
  const auto value = [&](double regret) { return summary.problems == 0 ? Json() : regret_json(regret); };
  return {{"median_regret_percent", value(summary.median)},
          {"p90_regret_percent", value(summary.percentile_90)},
          {"max_regret_percent", value(summary.maximum)},
          {"mean_regret_percent", value(summary.mean)},
          {"problems", summary.problems},
          {"not_judged", summary.unmeasured}};
}

ViewPage page_of(const AppliedPortfolio& applied, const std::vector<Comparable>& without) {
  ViewPage page{{table_of(applied_columns(), problem_rows(applied)), kernels_table(applied)},
                lines_of(applied)};
  for (const Comparable& what : without) page.lines.push_back(without_text(what));
  return page;
}

Json json_of(const AppliedPortfolio& applied) {
  Json json = ViewSection("", applied.what).facts;
  json["chosen_on"] = {{"gpu", applied.portfolio.gpu}, {"source", name(applied.portfolio.source)}};
  json["dimensions"] = applied.portfolio.dimensions;
  json["kernels"] = Json::array();
  for (const Trial& kernel : applied.portfolio.kernels)
    json["kernels"].push_back({{"template", kernel.template_name},
                               {"parameters", parsed_or_null(kernel.parameters)},
                               {"kernel_expression", kernel.kernel_expression}});
  const Regrets regrets = regrets_of(applied);
  json["with_the_chosen_kernel"] = summary_json(regrets.chosen);
  json["with_the_best_kernel"] = summary_json(regrets.least);
  json["problems"] = Json::array();
  problem_rows(applied)(
      [&](const ViewRow& row) { json["problems"].push_back(json_of(applied_columns(), row)); });
  return json;
}

}  // namespace

ViewDocument applied_view(const std::vector<AppliedPortfolio>& applied,
                          const std::vector<Comparable>& without) {
  ViewDocument view{"applied", "problems", applied_columns(), {"gpu", "source", "conditions"}};
  view.json = [&] {
    Json document{{"tiletune", kVersion}, {"applied", Json::array()}, {"without_portfolio", Json::array()}};
    for (const AppliedPortfolio& one : applied) document["applied"].push_back(json_of(one));
    for (const Comparable& what : without)
      document["without_portfolio"].push_back(ViewSection("", what).facts);
    return document;
  };
  add_sections(view, std::span(applied), [&](const AppliedPortfolio& one) {
    const std::string title = fmt::format("{} on {}", counted(one.portfolio.kernels.size(), "kernel"),
                                          counted(one.problems.size(), "problem"));
    ViewSection section(title, one.what);
    const bool is_last = &one == &applied.back();
    section.page = [&, is_last] { return page_of(one, is_last ? without : std::vector<Comparable>()); };
    section.rows = problem_rows(one);
    return section;
  });
  return view;
}

}  // namespace tiletune
