#include "rank/portability.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
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

/// Where the smallest values of a list end.
class Cut {
 public:
  Cut(std::span<const double> values, std::size_t top) {
    std::vector<double> sorted(values.begin(), values.end());
    top = std::min(top, sorted.size());
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(top) - 1;
    std::nth_element(sorted.begin(), last, sorted.end());
    last_ = *last;
    const auto below = std::count_if(values.begin(), values.end(), [&](double v) { return v < last_; });
    const auto equal = std::count(values.begin(), values.end(), last_);
    share_of_last_ = (static_cast<double>(top) - static_cast<double>(below)) / static_cast<double>(equal);
  }

  double share(double value) const {
    if (value == last_) return share_of_last_;
    return value < last_ ? 1 : 0;
  }

 private:
  double last_ = 0;
  double share_of_last_ = 0;
};

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

double shared_of_smallest(std::span<const double> a, std::span<const double> b, std::size_t top) {
  if (top == 0 || a.empty()) return 0;
  const Cut cut_a(a, top);
  const Cut cut_b(b, top);
  double shared = 0;
  for (std::size_t i = 0; i < a.size(); ++i) shared += cut_a.share(a[i]) * cut_b.share(b[i]);
  return shared;
}

}  // namespace tiletune
