#include "output/report/importance.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "output/cell_text.h"

namespace tiletune {

namespace {

/// What has more values names its rows; it is nothing to choose.
constexpr std::size_t kMostValues = 1000;

}  // namespace

void Importance::add(const nlohmann::ordered_json& parameters, double time_us) {
  const double time = std::log(time_us);
  if (total_.count == 0) first_ = time;
  const double y = time - first_;
  ++total_.count;
  total_.sum += y;
  squares_ += y * y;
  for (const auto& [name, value] : parameters.items()) {
    std::map<std::string, Sum>& by_value = by_parameter_[name];
    if (by_value.size() > kMostValues) continue;
    Sum& sum = by_value[value_text(value)];
    ++sum.count;
    sum.sum += y;
  }
}

std::vector<ParameterImportance> Importance::shares() const {
  std::vector<ParameterImportance> shares;
  const auto rows = static_cast<double>(total_.count);
  const double total = squares_ - total_.sum * total_.mean();
  for (const auto& [name, values] : by_parameter_) {
    const auto kinds = static_cast<double>(values.size());
    if (values.size() < 2 || values.size() > kMostValues || kinds >= rows || total <= 0) continue;
    double between = 0;
    for (const auto& [value, sum] : values) {
      const double distance = sum.mean() - total_.mean();
      between += static_cast<double>(sum.count) * distance * distance;
    }
    const double within = std::max(0.0, total - between) / (rows - kinds);
    const double share = std::clamp((between - (kinds - 1) * within) / total, 0.0, 1.0);
    const auto slower = [](const auto& a, const auto& b) { return a.second.mean() < b.second.mean(); };
    const auto [best, worst] = std::minmax_element(values.begin(), values.end(), slower);
    shares.push_back(
        {name, share, values.size(), best->first, std::exp(worst->second.mean() - best->second.mean())});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return shares;
}

nlohmann::ordered_json importance_json(const std::map<std::string, Importance>& by_template,
                                       const char* name) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [template_name, importance] : by_template) {
    nlohmann::ordered_json shares;
    for (const ParameterImportance& share : importance.shares())
      shares.push_back({{"parameter", share.name},
                        {"share", share.share},
                        {"values", share.values},
                        {"best", share.best},
                        {"worst_to_best", share.worst_to_best}});
    if (!shares.empty())
      list.push_back({{"template", template_name}, {"rows", importance.rows()}, {name, std::move(shares)}});
  }
  return list;
}

}  // namespace tiletune
