#include "output/applied_portfolios.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/csv.h"
#include "output/display.h"
#include "output/export.h"
#include "output/portfolio.h"
#include "output/rankings.h"
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

TextTable problems_table(const AppliedPortfolio& applied) {
  TextTable table;
  table.add_column("problem", Align::left);
  for (const char* name : {"best_us", "configurations", "kernel", "regret_percent", "least_regret_percent"})
    table.add_column(name, Align::right);
  table.add_column("result", Align::left);
  for (const AppliedProblem& problem : applied.problems)
    table.add_row({printable(problem.label), three_digits(problem.best_us),
                   std::to_string(problem.configurations),
                   problem.kernel ? std::to_string(*problem.kernel + 1) : "-", regret_text(problem.regret),
                   regret_text(problem.least_regret), result_text(problem)});
  return table;
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

void write_tables(std::ostream& out, const std::vector<AppliedPortfolio>& all,
                  const std::vector<Comparable>& without, bool markdown, const TextStyle& style) {
  bool first = true;
  for (const AppliedPortfolio& applied : all) {
    if (!std::exchange(first, false)) out << '\n';
    const Comparable& what = applied.what;
    write_section(out,
                  heading(fmt::format("{} on {}", counted(applied.portfolio.kernels.size(), "kernel"),
                                      counted(applied.problems.size(), "problem")),
                          what.gpu, what.source, what.conditions),
                  source_banner(what.source, what.gpu), problems_table(applied), markdown, style);
    out << '\n';
    write_table(out, kernels_table(applied), markdown, style);
    write_lines(out, lines_of(applied), markdown, style.width);
  }
  std::vector<std::string> lines;
  for (const Comparable& what : without) lines.push_back(without_text(what));
  if (!lines.empty()) write_lines(out, lines, markdown, style.width);
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

Json set_json(const Comparable& what) {
  return {{"gpu", what.gpu}, {"source", name(what.source)}, {"conditions", what.conditions}};
}

Json json_of(const AppliedPortfolio& applied) {
  Json json = set_json(applied.what);
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
  for (const AppliedProblem& problem : applied.problems)
    json["problems"].push_back({{"problem", problem.label},
                                {"best_us", problem.best_us},
                                {"configurations", problem.configurations},
                                {"kernel", problem.kernel ? Json(*problem.kernel) : Json()},
                                {"regret_percent", regret_json(problem.regret)},
                                {"least_regret_percent", regret_json(problem.least_regret)},
                                {"result", result_text(problem)}});
  return json;
}

void write_csv(std::ostream& out, const std::vector<AppliedPortfolio>& all) {
  write_csv_record(out, {"gpu", "source", "conditions", "problem", "best_us", "configurations", "kernel",
                         "template", "parameters", "regret_percent", "least_regret_percent", "result"});
  const auto exact = [](double regret) {
    return std::isfinite(regret) ? fmt::format("{}", 100 * regret) : std::string();
  };
  for (const AppliedPortfolio& applied : all) {
    for (const AppliedProblem& problem : applied.problems) {
      const Trial kernel = problem.kernel ? applied.portfolio.kernels[*problem.kernel] : Trial();
      write_csv_record(
          out, {applied.what.gpu, std::string(name(applied.what.source)), applied.what.conditions,
                problem.label, fmt::format("{}", problem.best_us), std::to_string(problem.configurations),
                problem.kernel ? std::to_string(*problem.kernel) : "", kernel.template_name,
                kernel.parameters, exact(problem.regret), exact(problem.least_regret), result_text(problem)});
    }
  }
}

}  // namespace

void write_applied(std::ostream& out, const std::vector<AppliedPortfolio>& applied,
                   const std::vector<Comparable>& without, Format format, const TextStyle& style) {
  if (format == Format::csv) return write_csv(out, applied);
  if (format != Format::json) return write_tables(out, applied, without, format == Format::markdown, style);
  Json document{{"tiletune", kVersion}, {"applied", Json::array()}, {"without_portfolio", Json::array()}};
  for (const AppliedPortfolio& one : applied) document["applied"].push_back(json_of(one));
  for (const Comparable& what : without) document["without_portfolio"].push_back(set_json(what));
  out << json_text(document, 2) << '\n';
}

}  // namespace tiletune
