#include "output/portfolio.h"

#include <fmt/format.h>

#include <numeric>

#include "base/printable.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "output/size_check.h"
#include "output/views.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// The function with its answers remembered.
template <class Answer, class... Places>
auto remembered(std::function<Answer(Places...)> answer) {
  return [answer, known = std::map<std::tuple<Places...>, Answer>()](Places... places) mutable -> Answer {
    const auto found = known.find({places...});
    return found != known.end() ? found->second
                                : known.emplace(std::tuple(places...), answer(places...)).first->second;
  };
}

/// What kernels' rows say of other sizes. It refers to the table and the database.
KernelFacts recorded_facts(const PortfolioTable& table, const Database& database) {
  using OfKernel = std::function<std::string(std::size_t)>;
  const auto column = [&](const char* name) -> OfKernel {
    return remembered(OfKernel([&, name](std::size_t kernel) {
      const Cell cell = database.cell(table.kernels[kernel].row, column_by_name(name));
      const auto* const text = std::get_if<std::string>(&cell);
      return text != nullptr ? *text : std::string();
    }));
  };
  using May = std::function<bool(std::size_t, std::size_t)>;
  using WavesOf = std::function<Waves(std::size_t, std::size_t)>;
  const May may_run = [&, conditions = column("size_conditions")](std::size_t kernel, std::size_t problem) {
    return satisfy(table.problems[problem].sizes, conditions(kernel), table.dimensions).value_or(true);
  };
  const WavesOf waves = [&, texts = column("waves")](std::size_t kernel, std::size_t problem) {
    return waves_at(table.problems[problem].sizes, texts(kernel), table.dimensions);
  };
  return {remembered(may_run), remembered(waves)};
}

}  // namespace

std::string percent_text(double percent) {
  return std::isfinite(percent) ? fmt::format("{:.2f}", percent) : "-";
}

Json to_json(const RegretSummary& summary, const char* unmeasured) {
  const auto percent = [](double regret) { return std::isfinite(regret) ? Json(100 * regret) : Json(); };
  return {{"median_regret_percent", percent(summary.median)},
          {"p90_regret_percent", percent(summary.percentile_90)},
          {"max_regret_percent", percent(summary.maximum)},
          {"mean_regret_percent", percent(summary.mean)},
          {"problems", summary.problems},
          {unmeasured, summary.unmeasured}};
}

TextTable chosen_kernels_table(const std::vector<Trial>& kernels,
                               const std::vector<std::optional<std::size_t>>& choices) {
  const std::vector<ViewColumn> columns{
      {"kernel", CellType::integer}, {"problems", CellType::integer}, {"template"}, {"parameters"}};
  return table_of(columns, [&](const auto& visit) {
    for (std::size_t i = 0; i < kernels.size(); ++i)
      visit({count_cell(i + 1), count_cell(std::ranges::count(choices, std::optional(i))),
             kernels[i].template_name, parameters_text(kernels[i])});
  });
}

std::vector<ViewColumn> with_chosen_kernel(std::vector<ViewColumn> first,
                                           const std::vector<ViewColumn>& last) {
  first.insert(first.end(), {{"kernel", CellType::integer, ColumnOf::people},
                             {"kernel", CellType::integer, ColumnOf::programs},
                             {"template", CellType::text, ColumnOf::csv},
                             {"parameters", CellType::text, ColumnOf::csv}});
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

std::vector<RecordedPortfolio> recorded_portfolios(const Database& database, const TrialFilter& filter,
                                                   const PortfolioOptions& options) {
  std::vector<RecordedPortfolio> portfolios;
  for (PortfolioGroup& group : portfolio_groups(database, filter)) {
    Portfolio portfolio = make_portfolio(group.table, options, recorded_facts(group.table, database));
    if (!portfolio.kernels.empty()) portfolios.push_back({std::move(group), std::move(portfolio)});
  }
  if (!portfolios.empty()) return portfolios;
  throw NothingToDo("no row that ran matches", Where{database.file().string(), ""},
                    "Loosen the filters, or run 'tiletune sweep' first.");
}

std::vector<PortfolioGap> gaps_of(const Portfolio& portfolio) {
  std::vector<PortfolioGap> gaps;
  for (std::size_t kernel = 0; kernel < portfolio.regrets.size(); ++kernel) {
    for (std::size_t problem = 0; problem < portfolio.regrets[kernel].size(); ++problem)
      if (std::isnan(portfolio.regrets[kernel][problem])) gaps.push_back({kernel, problem});
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
    if (is_new)
      all.push_back({problems[i].sizes, *kernel});
    else if (is_dense)
      all[place->second].kernel = *kernel;
  }
  return all;
}

Json to_json(const RecordedPortfolio& recorded, const std::vector<std::size_t>& entries) {
  const PortfolioGroup& group = recorded.group;
  Json json{{"gpu", group.what.gpu}, {"source", name(group.what.source)}};
  json["conditions"] = group.what.conditions;
  json["dimensions"] = group.table.dimensions;
  json["kernels"] = entries;
  json["times"] = Json::array();
  for (const TimeModel& model : recorded.portfolio.models) {
    Json& terms = json["times"].emplace_back(model.terms().empty() ? Json() : Json::array());
    for (const TimeModel::Term& term : model.terms()) {
      Json& entry = terms.emplace_back(Json{{"us", term.us}});
      if (term.launch) entry["launch"] = *term.launch;
      if (!term.sizes.empty()) entry["sizes"] = Json::array();
      for (const std::size_t size : term.sizes) entry["sizes"].push_back(group.table.dimensions[size]);
    }
  }
  json["fastest"] = Json::array();
  for (const FastestKernelOn& fastest : fastest_kernels(recorded))
    json["fastest"].push_back({{"sizes", fastest.sizes}, {"kernel", entries[fastest.kernel]}});
  return json;
}

namespace {

std::vector<Trial> kernels_of(const RecordedPortfolio& recorded, const Database& database) {
  std::vector<Trial> kernels;
  for (const std::size_t kernel : recorded.portfolio.kernels)
    kernels.push_back(database.row(recorded.group.table.kernels[kernel].row));
  return kernels;
}

/// "w = ceil_div(ceil_div(N, 128), 132)", of several launches w1, w2.
Lines wave_lines(const std::string& waves) {
  Lines lines;
  const Json list = parsed_cell(waves);
  for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
    const std::string name = list.size() == 1 ? "w" : fmt::format("w{}", i + 1);
    if (list[i].is_string()) lines.push_back(fmt::format("{} = {}", name, list[i].get<std::string>()));
  }
  return lines;
}

/// "  kernel 1: 2.1 + 0.000241 * w * K" and such, and what the waves are.
Lines time_lines(const RecordedPortfolio& recorded, const std::vector<Trial>& kernels) {
  Lines lines{"predicted time in us on other sizes"};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::vector<TimeModel::Term>& all = recorded.portfolio.models[i].terms();
    const bool by_waves =
        std::ranges::any_of(all, [](const TimeModel::Term& term) { return term.launch.has_value(); });
    const Lines waves = by_waves ? wave_lines(kernels[i].waves) : Lines();
    std::vector<std::string> terms;
    for (const TimeModel::Term& term : all) {
      std::vector<std::string> factors{fmt::format("{:.3g}", term.us)};
      if (term.launch) factors.push_back(waves.size() == 1 ? "w" : fmt::format("w{}", *term.launch + 1));
      for (const std::size_t size : term.sizes) factors.push_back(recorded.group.table.dimensions[size]);
      terms.push_back(join(factors, " * "));
    }
    lines.push_back(fmt::format("  kernel {}: {}", i + 1, printable(join(terms, " + "))));
    for (const std::string& line : waves) lines.push_back("    " + printable(line));
    if (by_waves) lines.front() = "predicted time in us on other sizes; w: waves of thread blocks";
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
      const std::vector<double> regrets = best_regrets(recorded.group.table, set);
      const RegretSummary summary = summarise_regrets(regrets);
      const auto without = std::ranges::count_if(regrets, [](double r) { return std::isinf(r); });
      visit({count_cell(set.size()), 100 * summary.median, 100 * summary.percentile_90, 100 * summary.maximum,
             100 * summary.mean, without == 0 ? Cell() : count_cell(without)});
    }
  });
  table.hide_empty_columns();
  return table;
}

std::vector<ViewColumn> portfolio_columns() {
  return with_chosen_kernel({{"problem"}, {"best_us", CellType::real}},
                            {{"regret_percent", CellType::real, ColumnOf::all, percent_text},
                             {"regret_percent_untuned", CellType::real, ColumnOf::all, percent_text}});
}

ViewRows problem_rows(const RecordedPortfolio& recorded, const Database& database) {
  return [&](const auto& visit) {
    const std::vector<Trial> kernels = kernels_of(recorded, database);
    const std::vector<double>& validated = recorded.portfolio.validation.regrets;
    const std::vector<double> regrets = best_regrets(recorded.group.table, recorded.portfolio.kernels);
    for (std::size_t i = 0; i < regrets.size(); ++i) {
      const PortfolioProblem& problem = recorded.group.table.problems[i];
      const auto place = recorded.portfolio.best_on(i);
      const Trial kernel = place ? kernels[*place] : Trial();
      visit({problem.label, problem.best_us, place ? count_cell(*place + 1) : Cell(), count_cell(place),
             kernel.template_name, kernel.parameters, 100 * regrets[i],
             validated.empty() ? Cell() : Cell(100 * validated[i])});
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

ViewPage page_of(const RecordedPortfolio& recorded, const Database& database) {
  const std::vector<Trial> kernels = kernels_of(recorded, database);
  const std::vector<PortfolioProblem>& problems = recorded.group.table.problems;
  std::vector<std::optional<std::size_t>> choices;
  for (std::size_t i = 0; i < problems.size(); ++i) choices.push_back(recorded.portfolio.best_on(i));
  TextTable table = table_of(portfolio_columns(), problem_rows(recorded, database));
  table.hide_empty_columns();
  const auto& [folds, untuned] = recorded.portfolio.validation;
  const std::string method = folds == untuned.size() ? "cross-validation, leaving one out"
                                                     : fmt::format("cross-validation with {} folds", folds);
  Lines lines{"the best of the kernels, " +
                  summary_text(best_regrets(recorded.group.table, recorded.portfolio.kernels)),
              folds == 0
                  ? "problems that were not tuned: not estimated, it takes two problems"
                  : fmt::format("problems that were not tuned ({}): {}", method, summary_text(untuned))};
  std::map<std::size_t, std::vector<std::string>> gaps;
  for (const PortfolioGap& gap : gaps_of(recorded.portfolio))
    gaps[gap.kernel].push_back(printable(problems[gap.problem].label));
  for (const auto& [kernel, labels] : gaps)
    lines.push_back(fmt::format("kernel {} was not measured on {}", kernel + 1, first_of(labels)));
  return {curve_table(recorded), chosen_kernels_table(kernels, choices),
          Verbatim{time_lines(recorded, kernels)}, std::move(table), std::move(lines)};
}

/// All but the problems.
Json facts_of(const RecordedPortfolio& recorded, const Database& database) {
  const PortfolioTable& table = recorded.group.table;
  std::vector<std::size_t> places(recorded.portfolio.kernels.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  Json json = to_json(recorded, places);
  json["kernels"] = Json::array();
  for (const Trial& trial : kernels_of(recorded, database))
    json["kernels"].push_back({{"template", trial.template_name},
                               {"parameters", parsed_or_null(trial.parameters)},
                               {"kernel_expression", trial.kernel_expression},
                               {"size_conditions", parsed_or_null(trial.size_conditions)},
                               {"waves", parsed_or_null(trial.waves)},
                               {"unmeasured", Json::array()}});
  for (const PortfolioGap& gap : gaps_of(recorded.portfolio))
    json["kernels"][gap.kernel]["unmeasured"].push_back(table.problems[gap.problem].label);
  json["curve"] = Json::array();
  for (const auto& set : recorded.portfolio.sets) {
    Json point{{"kernels", set.size()}};
    point.update(to_json(summarise_regrets(best_regrets(table, set)), "unmeasured"));
    json["curve"].push_back(std::move(point));
  }
  json["tuned"] = to_json(summarise_regrets(best_regrets(table, recorded.portfolio.kernels)), "unmeasured");
  const CrossValidation& validation = recorded.portfolio.validation;
  json["untuned"] = nullptr;
  if (validation.folds > 0) {
    json["untuned"] = to_json(summarise_regrets(validation.regrets), "unmeasured");
    json["untuned"]["folds"] = validation.folds;
  }
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
