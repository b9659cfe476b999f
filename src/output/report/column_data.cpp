#include "output/report/column_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// Each different text once; -1 stands for null.
Json by_name(const std::vector<Json>& values) {
  std::map<std::string, int> places;
  Json names = Json::array();
  Json indices = Json::array();
  for (const Json& value : values) {
    if (value.is_null()) {
      indices.push_back(-1);
      continue;
    }
    const std::string key = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto [place, is_new] = places.try_emplace(key, static_cast<int>(names.size()));
    if (is_new) names.push_back(value);
    indices.push_back(place->second);
  }
  return {{"names", std::move(names)}, {"values", std::move(indices)}};
}

}  // namespace

Json rounded(const Json& value) {
  if (!value.is_number_float()) return value;
  const double number = value.get<double>();
  if (!std::isfinite(number)) return nullptr;
  return std::strtod(fmt::format("{:.5g}", number).c_str(), nullptr);
}

Json packed_column(const std::vector<Json>& values) {
  if (std::all_of(values.begin(), values.end(), [](const Json& value) { return value.is_null(); }))
    return nullptr;
  if (std::all_of(values.begin(), values.end(), [&](const Json& value) { return value == values.front(); }))
    return {{"all", values.front()}};
  if (std::any_of(values.begin(), values.end(), [](const Json& value) { return value.is_string(); }))
    return by_name(values);
  return {{"values", values}};
}

}  // namespace tiletune
