#include "output/portfolio.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "output/display.h"
#include "output/fields.h"
#include "output/size_check.h"
#include "output/views.h"
#include "store/columns.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// Reads what a kernel's row says of other sizes once.
class RecordedFacts {
 public:
  RecordedFacts(const PortfolioTable& table, const Database& database) : table_(table), database_(database) {}

  bool may_run(std::size_t kernel, std::size_t problem) {
    return at(kernel, problem, may_run_, [&](const Texts& texts, const std::vector<std::int64_t>& sizes) {
      return satisfy(sizes, texts.conditions, table_.dimensions).value_or(true);
    });
  }

  Waves waves(std::size_t kernel, std::size_t problem) {
    return at(kernel, problem, waves_, [&](const Texts& texts, const std::vector<std::int64_t>& sizes) {
      return waves_at(sizes, texts.waves, table_.dimensions);
    });
  }

 private:
  struct Texts {
    std::string conditions;
    std::string waves;
  };
  template <class Fact>
  using ByPlace = std::map<std::pair<std::size_t, std::size_t>, Fact>;

  template <class Fact, class Make>
  Fact at(std::size_t kernel, std::size_t problem, ByPlace<Fact>& known, const Make& make) {
    const auto found = known.find({kernel, problem});
    if (found != known.end()) return found->second;
    return known.emplace(std::pair(kernel, problem), make(texts_of(kernel), table_.problems[problem].sizes))
        .first->second;
  }

  const Texts& texts_of(std::size_t kernel) {
    const auto [texts, is_unread] = texts_.try_emplace(kernel);
    if (is_unread) texts->second = {cell_of(kernel, "size_conditions"), cell_of(kernel, "waves")};
    return texts->second;
  }

  std::string cell_of(std::size_t kernel, const char* column) const {
    const Cell cell = database_.cell(table_.kernels[kernel].row, column_by_name(column));
    const auto* const text = std::get_if<std::string>(&cell);
    return text != nullptr ? *text : std::string();
  }

  const PortfolioTable& table_;
  const Database& database_;
  std::map<std::size_t, Texts> texts_;
  ByPlace<bool> may_run_;
  ByPlace<Waves> waves_;
};

Json terms_json(const TimeModel& model, const std::vector<std::string>& dimensions) {
  if (model.terms().empty()) return {};
  Json terms = Json::array();
  for (const TimeModel::Term& term : model.terms()) {
    Json& json = terms.emplace_back(Json{{"us", term.us}});
    if (term.launch) json["launch"] = *term.launch;
    if (!term.sizes.empty()) json["sizes"] = Json::array();
    for (const std::size_t size : term.sizes) json["sizes"].push_back(dimensions[size]);
  }
  return terms;
}

}  // namespace

std::string percent_text(double percent) {
  return std::isfinite(percent) ? fmt::format("{:.2f}", percent) : "-";
}

std::string regret_text(double regret) { return percent_text(100 * regret); }

Json regret_json(double regret) { return std::isfinite(regret) ? Json(100 * regret) : Json(); }

TextTable chosen_kernels_table(const std::vector<Trial>& kernels,
                               const std::vector<std::optional<std::size_t>>& choices) {
  std::vector<std::size_t> chosen(kernels.size(), 0);
  for (const auto& kernel : choices)
    if (kernel) ++chosen[*kernel];
  TextTable table;
  table.add_column("kernel", Align::right);
  table.add_column("problems", Align::right);
  table.add_column("template", Align::left);
  table.add_column("parameters", Align::left);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    table.add_row({std::to_string(i + 1), std::to_string(chosen[i]), printable(kernels[i].template_name),
                   parameters_text(kernels[i])});
  return table;
}

std::vector<RecordedPortfolio> recorded_portfolios(const Database& database, const TrialFilter& filter,
                                                   const PortfolioOptions& options) {
  std::vector<RecordedPortfolio> portfolios;
  for (PortfolioGroup& group : portfolio_groups(database, filter)) {
    RecordedFacts recorded(group.table, database);
    const auto may_run = [&](std::size_t kernel, std::size_t problem) {
      return recorded.may_run(kernel, problem);
    };
    const auto waves = [&](std::size_t kernel, std::size_t problem) {
      return recorded.waves(kernel, problem);
    };
    Portfolio portfolio = make_portfolio(group.table, options, {may_run, waves});
    if (!portfolio.kernels.empty()) portfolios.push_back({std::move(group), std::move(portfolio)});
  }
  if (!portfolios.empty()) return portfolios;
  throw NothingToDo("no row that ran matches", Where{database.file().string(), ""},
                    "Loosen the filters, or run 'tiletune sweep' first.");
}

std::vector<PortfolioGap> gaps_of(const Portfolio& portfolio) {
  std::vector<PortfolioGap> gaps;
  for (std::size_t kernel = 0; kernel < portfolio.regrets.size(); ++kernel) {
    for (std::size_t problem = 0; problem < portfolio.regrets[kernel].size(); ++problem) {
      if (std::isnan(portfolio.regrets[kernel][problem])) gaps.push_back({kernel, problem});
    }
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
  for (const TimeModel& model : recorded.portfolio.models)
    json["times"].push_back(terms_json(model, group.table.dimensions));
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

/// "0.000241 * w * K", with w for the waves of the only launch, w1, w2 of several.
std::string term_text(const TimeModel::Term& term, bool one_launch,
                      const std::vector<std::string>& dimensions) {
  std::vector<std::string> factors{fmt::format("{:.3g}", term.us)};
  if (term.launch) factors.push_back(one_launch ? "w" : fmt::format("w{}", *term.launch + 1));
  for (const std::size_t size : term.sizes) factors.push_back(dimensions[size]);
  return join(factors, " * ");
}

/// "w = ceil_div(ceil_div(N, 128), 132)"
std::vector<std::string> wave_lines(const std::string& waves) {
  std::vector<std::string> lines;
  const Json list = parsed_cell(waves);
  if (!list.is_array()) return lines;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string name = list.size() == 1 ? "w" : fmt::format("w{}", i + 1);
    if (list[i].is_string()) lines.push_back(fmt::format("{} = {}", name, list[i].get<std::string>()));
  }
  return lines;
}

std::vector<std::string> time_lines(const RecordedPortfolio& recorded, const std::vector<Trial>& kernels) {
  std::vector<std::string> lines{"predicted time in us on other sizes"};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::vector<TimeModel::Term>& all = recorded.portfolio.models[i].terms();
    const bool by_waves = std::any_of(all.begin(), all.end(),
                                      [](const TimeModel::Term& term) { return term.launch.has_value(); });
    const std::vector<std::string> waves =
        by_waves ? wave_lines(kernels[i].waves) : std::vector<std::string>();
    std::vector<std::string> terms;
    for (const TimeModel::Term& term : all)
      terms.push_back(term_text(term, waves.size() == 1, recorded.group.table.dimensions));
    lines.push_back(fmt::format("  kernel {}: {}", i + 1, printable(join(terms, " + "))));
    for (const std::string& line : waves) lines.push_back("    " + printable(line));
    if (by_waves) lines.front() = "predicted time in us on other sizes; w: waves of thread blocks";
  }
  return lines;
}

TextTable curve_table(const RecordedPortfolio& recorded) {
  TextTable table;
  for (const char* name : {"kernels", "median_regret_percent", "p90_regret_percent", "max_regret_percent",
                           "mean_regret_percent", "problems_without"})
    table.add_column(name, Align::right);
  for (const auto& set : recorded.portfolio.sets) {
    const std::vector<double> regrets = best_regrets(recorded.group.table, set);
    const RegretSummary summary = summarise_regrets(regrets);
    const auto without =
        std::count_if(regrets.begin(), regrets.end(), [](double r) { return std::isinf(r); });
    table.add_row({std::to_string(set.size()), regret_text(summary.median),
                   regret_text(summary.percentile_90), regret_text(summary.maximum),
                   regret_text(summary.mean), without == 0 ? "-" : std::to_string(without)});
  }
  table.hide_empty_columns();
  return table;
}

TextTable kernels_table(const RecordedPortfolio& recorded, const std::vector<Trial>& kernels) {
  std::vector<std::optional<std::size_t>> choices;
  for (std::size_t i = 0; i < recorded.group.table.problems.size(); ++i)
    choices.push_back(recorded.portfolio.best_on(i));
  return chosen_kernels_table(kernels, choices);
}

std::vector<ViewColumn> portfolio_columns() {
  return {{"problem"},
          {"best_us", CellType::real},
          {"kernel", CellType::integer, ColumnOf::people},
          {"kernel", CellType::integer, ColumnOf::programs},
          {"template", CellType::text, ColumnOf::csv},
          {"parameters", CellType::text, ColumnOf::csv},
          {"regret_percent", CellType::real, ColumnOf::all, percent_text},
          {"regret_percent_untuned", CellType::real, ColumnOf::all, percent_text}};
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

TextTable problems_table(const RecordedPortfolio& recorded, const Database& database) {
  TextTable table = table_of(portfolio_columns(), problem_rows(recorded, database));
  table.hide_empty_columns();
  return table;
}

std::string summary_text(const RegretSummary& summary) {
  const auto value = [](double regret) {
    return std::isfinite(regret) ? regret_text(regret) + "%" : "no kernel runs";
  };
  std::string text = fmt::format("regret: median {}, 90th percentile {}, maximum {}", value(summary.median),
                                 value(summary.percentile_90), value(summary.maximum));
  if (summary.unmeasured > 0)
    text += fmt::format("; {} whose choice was not measured", counted(summary.unmeasured, "problem"));
  return text;
}

std::string validation_text(const CrossValidation& validation) {
  if (validation.folds == 0) return "problems that were not tuned: not estimated, it takes two problems";
  const bool one_out = validation.folds == validation.regrets.size();
  return fmt::format("problems that were not tuned ({}): {}",
                     one_out ? "cross-validation, leaving one out"
                             : fmt::format("cross-validation with {} folds", validation.folds),
                     summary_text(summarise_regrets(validation.regrets)));
}

std::vector<std::string> gap_lines(const RecordedPortfolio& recorded) {
  std::vector<std::string> lines;
  std::vector<std::vector<std::string>> by_kernel(recorded.portfolio.kernels.size());
  for (const PortfolioGap& gap : gaps_of(recorded.portfolio))
    by_kernel[gap.kernel].push_back(printable(recorded.group.table.problems[gap.problem].label));
  for (std::size_t i = 0; i < by_kernel.size(); ++i) {
    if (by_kernel[i].empty()) continue;
    lines.push_back(fmt::format("kernel {} was not measured on {}", i + 1, first_of(by_kernel[i])));
  }
  return lines;
}

ViewPage page_of(const RecordedPortfolio& recorded, const Database& database) {
  const std::vector<Trial> kernels = kernels_of(recorded, database);
  ViewPage page{{curve_table(recorded), kernels_table(recorded, kernels), time_lines(recorded, kernels),
                 problems_table(recorded, database)}};
  const std::vector<double> regrets = best_regrets(recorded.group.table, recorded.portfolio.kernels);
  page.lines = {"the best of the kernels, " + summary_text(summarise_regrets(regrets)),
                validation_text(recorded.portfolio.validation)};
  for (std::string& line : gap_lines(recorded)) page.lines.push_back(std::move(line));
  return page;
}

Json summary_json(const std::vector<double>& regrets) {
  const RegretSummary summary = summarise_regrets(regrets);
  return {{"median_regret_percent", regret_json(summary.median)},
          {"p90_regret_percent", regret_json(summary.percentile_90)},
          {"max_regret_percent", regret_json(summary.maximum)},
          {"mean_regret_percent", regret_json(summary.mean)},
          {"problems", summary.problems},
          {"unmeasured", summary.unmeasured}};
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
    point.update(summary_json(best_regrets(table, set)));
    json["curve"].push_back(std::move(point));
  }
  json["tuned"] = summary_json(best_regrets(table, recorded.portfolio.kernels));
  const CrossValidation& validation = recorded.portfolio.validation;
  json["untuned"] = validation.folds == 0 ? Json() : summary_json(validation.regrets);
  if (validation.folds > 0) json["untuned"]["folds"] = validation.folds;
  return json;
}

}  // namespace

ViewDocument portfolios_view(const std::vector<RecordedPortfolio>& portfolios, const Database& database) {
  ViewDocument view{"portfolios", "problems", portfolio_columns(), {"gpu", "source", "conditions"}};
  add_sections(view, std::span(portfolios), [&database](const RecordedPortfolio& recorded) {
    const std::size_t problems = recorded.group.table.problems.size();
    ViewSection section(fmt::format("kernels for {}", counted(problems, "problem")), recorded.group.what);
    section.add_facts = [&](Json& facts) { facts.update(facts_of(recorded, database)); };
    section.page = [&] { return page_of(recorded, database); };
    section.rows = problem_rows(recorded, database);
    return section;
  });
  return view;
}

}  // namespace tiletune
