#include "output/portfolio.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "output/fields.h"
#include "output/size_check.h"
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

}  // namespace tiletune
