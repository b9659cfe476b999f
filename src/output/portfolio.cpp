#include "output/portfolio.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "output/views.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;
/// "0.53"; "-" for what is not a finite number.
std::string percent_text(double percent) {
  return std::isfinite(percent) ? fmt::format("{:.2f}", percent) : "-";
}

/// Regrets in percent, null if not finite.
Json to_json(const RegretSummary& summary) {
  const auto percent = [](double regret) { return std::isfinite(regret) ? Json(100 * regret) : Json(); };
  return {{"median_regret_percent", percent(summary.median)},
          {"p90_regret_percent", percent(summary.percentile_90)},
          {"max_regret_percent", percent(summary.maximum)},
          {"mean_regret_percent", percent(summary.mean)},
          {"problems", summary.problems},
          {"unmeasured", summary.unmeasured}};
}

/// The smallest regrets of a set on the problems that it was chosen for, or on the others.
std::vector<double> tuned_regrets(const RecordedPortfolio& recorded, const std::vector<std::size_t>& set,
                                  bool are_tuned = true) {
  std::vector<double> regrets;
  const std::vector<double> all = best_regrets(recorded.group.table, set);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (recorded.portfolio.training[i] == are_tuned) regrets.push_back(all[i]);
  return regrets;
}

std::vector<double> untuned_regrets(const Portfolio& portfolio) {
  std::vector<double> regrets;
  for (const UntunedProblem& one : portfolio.untuned) regrets.push_back(one.regret);
  return regrets;
}

void check_held_out(const std::set<std::string>& labels, const std::vector<PortfolioGroup>& groups) {
  for (const std::string& label : labels) {
    const auto has_it = [&](const PortfolioGroup& group) {
      return std::ranges::find(group.table.problems, label, &PortfolioProblem::label) !=
             group.table.problems.end();
    };
    if (std::ranges::none_of(groups, has_it))
      throw UserError(fmt::format("no configuration ran on the problem '{}'", label), Where{"--held-out", ""},
                      "Sweep it first, or leave it out.");
  }
}

}  // namespace

std::vector<RecordedPortfolio> recorded_portfolios(const Database& database, const TrialFilter& filter,
                                                   const PortfolioOptions& options,
                                                   const FactsOfTable& facts_of) {
  std::vector<RecordedPortfolio> portfolios;
  std::vector<PortfolioGroup> groups = portfolio_groups(database, filter);
  if (!groups.empty()) check_held_out(options.held_out, groups);
  for (PortfolioGroup& group : groups) {
    Portfolio portfolio = make_portfolio(group.table, options, facts_of(group.table));
    if (!portfolio.kernels.empty()) portfolios.push_back({std::move(group), std::move(portfolio)});
  }
  if (!portfolios.empty()) return portfolios;
  throw NothingToDo("no row that ran matches", Where{database.file().string(), ""},
                    "Loosen the filters, or run 'tiletune sweep' first.");
}

std::vector<PortfolioGap> gaps_of(const RecordedPortfolio& recorded) {
  const Portfolio& portfolio = recorded.portfolio;
  std::vector<PortfolioGap> gaps;
  for (std::size_t kernel = 0; kernel < portfolio.kernels.size(); ++kernel) {
    const std::vector<std::size_t>& failed =
        recorded.group.table.kernels[portfolio.kernels[kernel]].failed_on;
    for (std::size_t problem = 0; problem < portfolio.regrets[kernel].size(); ++problem)
      if (std::isnan(portfolio.regrets[kernel][problem]) &&
          std::ranges::find(failed, problem) == failed.end())
        gaps.push_back({kernel, problem});
  }
  return gaps;
}

std::vector<FastestKernelOn> fastest_kernels(const RecordedPortfolio& recorded) {
  const std::vector<PortfolioProblem>& problems = recorded.group.table.problems;
  std::vector<FastestKernelOn> all;
  std::map<std::vector<std::int64_t>, std::size_t> places;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const auto kernel = recorded.portfolio.best_on(i);
    if (!kernel) continue;
    const auto [place, is_new] = places.try_emplace(problems[i].sizes, all.size());
    const bool is_dense = problems[i].label.find(' ') == std::string::npos;
    const FastestKernelOn fastest{problems[i].sizes, *kernel,
                                  problems[i].best_us * (1 + recorded.portfolio.regrets[*kernel][i])};
    if (is_new)
      all.push_back(fastest);
    else if (is_dense)
      all[place->second] = fastest;
  }
  return all;
}

namespace {

std::vector<Trial> kernels_of(const RecordedPortfolio& recorded, const Database& database) {
  std::vector<Trial> kernels;
  for (const std::size_t kernel : recorded.portfolio.kernels)
    kernels.push_back(database.row(recorded.group.table.kernels[kernel].row));
  return kernels;
}

/// "  kernel 1: 2.1 + 0.000241 * w * K" and such.
Lines time_lines(const RecordedPortfolio& recorded) {
  Lines lines{"predicted time in us on other sizes"};
  for (std::size_t i = 0; i < recorded.portfolio.models.size(); ++i) {
    std::vector<std::string> terms;
    for (const TimeModel::Term& term : recorded.portfolio.models[i].terms()) {
      std::vector<std::string> factors{fmt::format("{:.3g}", term.us)};
      if (term.launch) {
        factors.push_back(fmt::format("w{}", *term.launch + 1));
        lines.front() = "predicted time in us on other sizes; w1: waves of thread blocks of the first launch";
      }
      for (const std::size_t size : term.sizes) factors.push_back(recorded.group.table.dimensions[size]);
      terms.push_back(join(factors, " * "));
    }
    lines.push_back(fmt::format("  kernel {}: {}", i + 1, printable(join(terms, " + "))));
  }
  return lines;
}

TextTable curve_table(const RecordedPortfolio& recorded) {
  std::vector<ViewColumn> columns{{"kernels", CellType::integer}};
  for (const char* name :
       {"median_regret_percent", "p90_regret_percent", "max_regret_percent", "mean_regret_percent"})
    columns.push_back({name, CellType::real, ColumnOf::all, percent_text});
  columns.push_back({"problems_without", CellType::integer});
  TextTable table = table_of(columns, [&](const auto& visit) {
    for (const auto& set : recorded.portfolio.sets) {
      const std::vector<double> regrets = tuned_regrets(recorded, set);
      const RegretSummary summary = summarise_regrets(regrets);
      const auto without = std::ranges::count_if(regrets, [](double r) { return std::isinf(r); });
      visit({count_cell(set.size()), 100 * summary.median, 100 * summary.percentile_90, 100 * summary.maximum,
             100 * summary.mean, without == 0 ? Cell() : count_cell(without)});
    }
  });
  table.hide_empty_columns();
  return table;
}

/// For people a kernel's number, from 1; for programs its place.
std::vector<ViewColumn> portfolio_columns() {
  return {{"problem"},
          {"best_us", CellType::real},
          {"kernel", CellType::integer, ColumnOf::people},
          {"kernel", CellType::integer, ColumnOf::programs},
          {"template", CellType::text, ColumnOf::csv},
          {"parameters", CellType::text, ColumnOf::csv},
          {"regret_percent", CellType::real, ColumnOf::all, percent_text},
          {"kernel_untuned", CellType::integer, ColumnOf::people},
          {"kernel_untuned", CellType::integer, ColumnOf::programs},
          {"regret_percent_untuned", CellType::real, ColumnOf::all, percent_text}};
}

ViewRows problem_rows(const RecordedPortfolio& recorded, const Database& database) {
  return [&](const auto& visit) {
    const std::vector<Trial> kernels = kernels_of(recorded, database);
    const Portfolio& portfolio = recorded.portfolio;
    const std::vector<double> regrets = best_regrets(recorded.group.table, portfolio.kernels);
    const auto number = [](std::optional<std::size_t> place) {
      return place ? count_cell(*place + 1) : Cell();
    };
    for (std::size_t i = 0; i < regrets.size(); ++i) {
      const PortfolioProblem& problem = recorded.group.table.problems[i];
      const auto place = portfolio.best_on(i);
      const Trial kernel = place ? kernels[*place] : Trial();
      const auto untuned = std::ranges::find(portfolio.untuned, i, &UntunedProblem::problem);
      const bool is_judged = untuned != portfolio.untuned.end();
      const auto predicted = is_judged ? untuned->kernel : std::nullopt;
      visit({problem.label, problem.best_us, number(place), count_cell(place), kernel.template_name,
             kernel.parameters, 100 * regrets[i], number(predicted), count_cell(predicted),
             is_judged ? Cell(100 * untuned->regret) : Cell()});
    }
  };
}

std::string summary_text(const std::vector<double>& regrets) {
  const RegretSummary summary = summarise_regrets(regrets);
  const auto value = [](double regret) {
    return std::isfinite(regret) ? percent_text(100 * regret) + "%" : "no kernel runs";
  };
  std::string text = fmt::format("regret: median {}, 90th percentile {}, maximum {}", value(summary.median),
                                 value(summary.percentile_90), value(summary.maximum));
  if (summary.unmeasured > 0)
    text += fmt::format("; {} whose choice was not measured", counted(summary.unmeasured, "problem"));
  return text;
}

/// The kernels, and on how many problems each is the best.
TextTable kernels_table(const RecordedPortfolio& recorded, const std::vector<Trial>& kernels) {
  std::vector<std::size_t> problems(kernels.size(), 0);
  for (std::size_t i = 0; i < recorded.group.table.problems.size(); ++i)
    if (const auto best = recorded.portfolio.best_on(i)) ++problems[*best];
  const std::vector<ViewColumn> columns{
      {"kernel", CellType::integer}, {"problems", CellType::integer}, {"template"}, {"parameters"}};
  return table_of(columns, [&](const auto& visit) {
    for (std::size_t i = 0; i < kernels.size(); ++i)
      visit({count_cell(i + 1), count_cell(problems[i]), kernels[i].template_name,
             parameters_text(kernels[i])});
  });
}

ViewPage page_of(const RecordedPortfolio& recorded, const Database& database) {
  const std::vector<Trial> kernels = kernels_of(recorded, database);
  const std::vector<PortfolioProblem>& problems = recorded.group.table.problems;
  const Portfolio& portfolio = recorded.portfolio;
  TextTable table = table_of(portfolio_columns(), problem_rows(recorded, database));
  table.hide_empty_columns();
  Lines lines{"the best of the kernels, " + summary_text(tuned_regrets(recorded, portfolio.kernels)),
              portfolio.untuned.empty()
                  ? "regret on untuned problems: unknown; hold some out with --held-out"
                  : fmt::format("problems that were not tuned ({} held out): {}", portfolio.untuned.size(),
                                summary_text(untuned_regrets(portfolio)))};
  if (const std::vector<double> held_out = tuned_regrets(recorded, portfolio.kernels, false);
      !held_out.empty())
    lines.push_back("the best of the kernels there, " + summary_text(held_out));
  std::map<std::size_t, std::vector<std::string>> gaps;
  for (const PortfolioGap& gap : gaps_of(recorded))
    gaps[gap.kernel].push_back(printable(problems[gap.problem].label));
  for (const auto& [kernel, labels] : gaps)
    lines.push_back(fmt::format("kernel {} was not measured on {}", kernel + 1, first_of(labels)));
  return {curve_table(recorded), kernels_table(recorded, kernels), Verbatim{time_lines(recorded)},
          std::move(table), std::move(lines)};
}

/// All but the problems.
Json facts_of(const RecordedPortfolio& recorded, const Database& database) {
  const PortfolioTable& table = recorded.group.table;
  Json json{{"dimensions", table.dimensions}, {"kernels", Json::array()}, {"fastest", Json::array()}};
  for (const Trial& trial : kernels_of(recorded, database))
    json["kernels"].push_back({{"template", trial.template_name},
                               {"parameters", parsed_or_null(trial.parameters)},
                               {"kernel_expression", trial.kernel_expression},
                               {"unmeasured", Json::array()}});
  for (const PortfolioGap& gap : gaps_of(recorded))
    json["kernels"][gap.kernel]["unmeasured"].push_back(table.problems[gap.problem].label);
  for (const FastestKernelOn& fastest : fastest_kernels(recorded))
    json["fastest"].push_back({{"sizes", fastest.sizes}, {"kernel", fastest.kernel}});
  json["curve"] = Json::array();
  for (const auto& set : recorded.portfolio.sets) {
    Json point{{"kernels", set.size()}};
    point.update(to_json(summarise_regrets(tuned_regrets(recorded, set))));
    json["curve"].push_back(std::move(point));
  }
  const Portfolio& portfolio = recorded.portfolio;
  json["tuned"] = to_json(summarise_regrets(tuned_regrets(recorded, portfolio.kernels)));
  json["untuned"] = nullptr;
  if (!portfolio.untuned.empty()) json["untuned"] = to_json(summarise_regrets(untuned_regrets(portfolio)));
  return json;
}

}  // namespace

ViewDocument portfolios_view(const std::vector<RecordedPortfolio>& portfolios, const Database& database) {
  ViewDocument view{"portfolios", "problems", portfolio_columns(), {"gpu", "source", "conditions"}};
  add_sections(view, std::span(portfolios), [&database](const RecordedPortfolio& recorded) {
    const std::size_t problems = recorded.group.table.problems.size();
    ViewSection section(fmt::format("kernels for {}", counted(problems, "problem")), recorded.group.what);
    section.add_facts = [&](Json& facts) { facts.update(facts_of(recorded, database)); };
    section.page = [&](std::size_t) { return page_of(recorded, database); };
    section.rows = problem_rows(recorded, database);
    return section;
  });
  return view;
}

}  // namespace tiletune
