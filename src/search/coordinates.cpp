#include "search/coordinates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tiletune::search {

namespace {

/// Where coordinates of values lie that cannot be compared: farther than 1 from each other and from [0, 1].
constexpr float kApart = 3;
constexpr float kAbsent = -kApart;
/// Where the logarithm of a length scale is expected: of a parameter, and of how often 2 divides it.
constexpr double kScale = 0.3, kDivisibilityScale = 0.8;

bool is_number(const Value& value) { return !std::holds_alternative<std::string>(value); }

double number(const Value& value) {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string>)
          return 0.0;
        else
          return static_cast<double>(held);
      },
      value);
}

/// All values that a parameter has in any space, each once.
std::vector<Value> values_of(const std::vector<SearchedSpace>& spaces, const std::string& name) {
  std::set<Value> values;
  for (const SearchedSpace& one : spaces) {
    for (const Parameter& parameter : one.space->parameters())
      if (parameter.name == name) values.insert(parameter.values.begin(), parameter.values.end());
  }
  return {values.begin(), values.end()};
}

using Places = std::map<Value, float>;

/// By their logarithm, or by their order where one is not positive.
Places places_of_numbers(std::vector<Value> values) {
  std::sort(values.begin(), values.end(),
            [](const Value& a, const Value& b) { return number(a) < number(b); });
  const bool is_positive = number(values.front()) > 0;
  const double low = is_positive ? std::log2(number(values.front())) : 0;
  const double high = is_positive ? std::log2(number(values.back())) : static_cast<double>(values.size() - 1);
  Places places;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = is_positive ? std::log2(number(values[i])) : static_cast<double>(i);
    places.emplace(values[i], high > low ? static_cast<float>((at - low) / (high - low)) : 0);
  }
  return places;
}

Places places_of(const std::vector<Value>& values) {
  if (std::all_of(values.begin(), values.end(), is_number)) return places_of_numbers(values);
  Places places;
  for (std::size_t i = 0; i < values.size(); ++i)
    places.emplace(values[i],
                   values.size() == 2 ? static_cast<float>(i) : kApart * static_cast<float>(i + 1));
  return places;
}

/// How often 2 divides each value; none where that says nothing new: of words, of what is not a positive
/// integer, and of powers of two.
std::optional<Places> places_by_divisibility(const std::vector<Value>& values) {
  constexpr int kMostTwos = 5;
  if (values.size() < 3) return std::nullopt;
  Places places;
  bool are_powers = true;
  int least = kMostTwos, most = 0;
  std::vector<int> twos;
  for (const Value& value : values) {
    const auto* held = std::get_if<std::int64_t>(&value);
    if (held == nullptr || *held <= 0) return std::nullopt;
    are_powers &= (*held & (*held - 1)) == 0;
    const int count =
        std::min(kMostTwos, static_cast<int>(__builtin_ctzll(static_cast<std::uint64_t>(*held))));
    twos.push_back(count);
    least = std::min(least, count);
    most = std::max(most, count);
  }
  if (are_powers || least == most) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i)
    places.emplace(values[i], static_cast<float>(twos[i] - least) / static_cast<float>(most - least));
  return places;
}

}  // namespace

Coordinates::Coordinates(const std::vector<SearchedSpace>& spaces)
    : columns_(spaces.size()), has_several_spaces_(spaces.size() > 1) {
  std::vector<std::string> names;
  for (const SearchedSpace& one : spaces) {
    spaces_.push_back(one.space);
    for (const Parameter& parameter : one.space->parameters())
      if (std::find(names.begin(), names.end(), parameter.name) == names.end())
        names.push_back(parameter.name);
  }
  for (const std::string& name : names) add_parameter(spaces, name);
  if (has_several_spaces_) log_scales_.push_back(kScale);
  log_scales_.push_back(kScale);
}

void Coordinates::add_parameter(const std::vector<SearchedSpace>& spaces, const std::string& name) {
  const std::vector<Value> values = values_of(spaces, name);
  if (values.size() < 2) return;
  const auto add = [&](const Places& places, double scale) {
    for (std::size_t i = 0; i < spaces.size(); ++i) {
      const std::vector<Parameter>& parameters = spaces[i].space->parameters();
      const auto found = std::find_if(parameters.begin(), parameters.end(),
                                      [&](const Parameter& parameter) { return parameter.name == name; });
      if (found == parameters.end()) continue;
      Column column{log_scales_.size(), static_cast<std::size_t>(found - parameters.begin()), {}};
      for (const Value& value : found->values) column.places.push_back(places.at(value));
      columns_[i].push_back(std::move(column));
    }
    log_scales_.push_back(scale);
  };
  add(places_of(values), kScale);
  if (const auto places = places_by_divisibility(values)) add(*places, kDivisibilityScale);
}

Eigen::RowVectorXf Coordinates::point(const Choice& choice) const {
  return point(choice.space, spaces_[choice.space]->positions(choice.index), 0);
}

Eigen::RowVectorXf Coordinates::point(std::size_t space, const std::vector<std::uint32_t>& positions,
                                      double distance) const {
  Eigen::RowVectorXf point = Eigen::RowVectorXf::Constant(static_cast<Eigen::Index>(count()), kAbsent);
  for (const Column& column : columns_[space])
    point[static_cast<Eigen::Index>(column.coordinate)] = column.places[positions[column.parameter]];
  if (has_several_spaces_) point[point.size() - 2] = kApart * static_cast<float>(space);
  point[point.size() - 1] = static_cast<float>(distance);
  return point;
}

}  // namespace tiletune::search
