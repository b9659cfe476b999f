#include "rank/portability.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

namespace tiletune {

namespace {

using Places = std::vector<std::uint32_t>;

/// Of the values, the smallest first.
Places ascending(std::span<const double> values) {
  Places places(values.size());
  std::iota(places.begin(), places.end(), 0U);
  std::stable_sort(places.begin(), places.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  return places;
}

std::vector<double> shared_ranks(std::span<const double> values) {
  const Places places = ascending(values);
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < places.size();) {
    std::size_t last = first;
    while (last + 1 < places.size() && values[places[last + 1]] == values[places[first]]) ++last;
    const double mean = static_cast<double>(first + last) / 2;
    for (std::size_t i = first; i <= last; ++i) ranks[places[i]] = mean;
    first = last + 1;
  }
  return ranks;
}

}  // namespace

std::optional<double> pennycook(std::span<const double> efficiencies) {
  if (efficiencies.empty()) return std::nullopt;
  double reciprocals = 0;
  for (const double efficiency : efficiencies) {
    if (efficiency <= 0) return 0;
    reciprocals += 1 / efficiency;
  }
  return static_cast<double>(efficiencies.size()) / reciprocals;
}

std::optional<double> spearman(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> ranks_a = shared_ranks(a);
  const std::vector<double> ranks_b = shared_ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double product = 0;
  double square_a = 0;
  double square_b = 0;
  for (std::size_t i = 0; i < ranks_a.size(); ++i) {
    product += (ranks_a[i] - mean) * (ranks_b[i] - mean);
    square_a += (ranks_a[i] - mean) * (ranks_a[i] - mean);
    square_b += (ranks_b[i] - mean) * (ranks_b[i] - mean);
  }
  if (square_a == 0 || square_b == 0) return std::nullopt;
  return product / std::sqrt(square_a * square_b);
}

std::size_t top_percent(std::size_t count) { return (count + 99) / 100; }

std::size_t shared_of_smallest(std::span<const double> a, std::span<const double> b, std::size_t top) {
  const auto smallest = [&](std::span<const double> values) {
    Places places = ascending(values);
    places.resize(std::min(top, places.size()));
    std::sort(places.begin(), places.end());
    return places;
  };
  const Places of_a = smallest(a);
  const Places of_b = smallest(b);
  Places shared;
  std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(shared));
  return shared.size();
}

}  // namespace tiletune
