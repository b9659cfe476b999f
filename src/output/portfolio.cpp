#include "output/portfolio.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "output/export.h"
#include "output/size_check.h"
#include "store/columns.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// Reads what a kernel's row says of other sizes once.
class RecordedConditions {
 public:
  RecordedConditions(const PortfolioTable& table, const Database& database)
      : table_(table), database_(database) {}

  bool may_run(std::size_t kernel, std::size_t problem) {
    const auto [place, is_new] = asked_.try_emplace({kernel, problem}, true);
    if (!is_new) return place->second;
    const auto [text, is_unread] = texts_.try_emplace(kernel);
    if (is_unread) {
      const Cell cell = database_.cell(table_.kernels[kernel].row, column_by_name("size_conditions"));
      if (const auto* written = std::get_if<std::string>(&cell)) text->second = *written;
    }
    place->second = satisfy(table_.problems[problem].sizes, text->second, table_.dimensions).value_or(true);
    return place->second;
  }

 private:
  const PortfolioTable& table_;
  const Database& database_;
  std::map<std::size_t, std::string> texts_;
  std::map<std::pair<std::size_t, std::size_t>, bool> asked_;
};

Json tree_json(const DecisionTree& tree, std::size_t place, const std::vector<std::string>& dimensions,
               const std::vector<std::size_t>& entries) {
  const DecisionTree::Node& node = tree.nodes()[place];
  if (node.below == 0) {
    Json kernels = Json::array();
    for (const std::size_t kernel : node.order) kernels.push_back(entries[kernel]);
    return {{"kernels", std::move(kernels)}};
  }
  Json sizes = Json::array({dimensions[node.feature.first]});
  if (node.feature.second) sizes.push_back(dimensions[*node.feature.second]);
  Json json{{"sizes", std::move(sizes)}, {"limit", node.limit}};
  json["at_most"] = tree_json(tree, node.below, dimensions, entries);
  json["above"] = tree_json(tree, node.above, dimensions, entries);
  return json;
}

}  // namespace

std::string regret_text(double regret) {
  return std::isfinite(regret) ? fmt::format("{:.2f}", 100 * regret) : "-";
}

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
    RecordedConditions conditions(group.table, database);
    Portfolio portfolio = make_portfolio(group.table, options, [&](std::size_t kernel, std::size_t problem) {
      return conditions.may_run(kernel, problem);
    });
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

Json to_json(const RecordedPortfolio& recorded, const std::vector<std::size_t>& entries) {
  const PortfolioGroup& group = recorded.group;
  Json json{{"gpu", group.what.gpu}, {"source", name(group.what.source)}};
  json["conditions"] = group.what.conditions;
  json["dimensions"] = group.table.dimensions;
  json["kernels"] = entries;
  json["tree"] = tree_json(recorded.portfolio.tree, 0, group.table.dimensions, entries);
  return json;
}

}  // namespace tiletune
