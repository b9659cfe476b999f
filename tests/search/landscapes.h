#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "search/strategies.h"
#include "space/example_spaces.h"

namespace tiletune {

/// A time for each configuration: grows with the distance of each parameter from a best value, with pairs of
/// neighbouring parameters that depend on each other, and 1% of noise that is always the same. One in nine
/// does not run.
class Landscape {
 public:
  Landscape(const Space& space, std::uint64_t seed) : space_(&space), counts_(space.value_counts()) {
    std::uint64_t state = seed;
    for (std::size_t i = 0; i < counts_.size(); ++i)
      best_.push_back(static_cast<double>(drawn(state) % 1000) / 1000);
  }

  std::optional<double> time_us(std::uint64_t index) const {
    const std::vector<std::uint32_t> positions = space_->positions(index);
    double time = 1;
    double previous = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] == 1) continue;
      const double difference = positions[i] / static_cast<double>(counts_[i] - 1) - best_[i];
      time += std::abs(difference) + 0.5 * std::abs(difference * previous);
      previous = difference;
    }
    std::uint64_t state = index + 1;
    const std::uint64_t noise = drawn(state);
    if (noise % 9 == 0) return std::nullopt;
    return 100 * time * (1 + 0.01 * static_cast<double>(noise % 1000) / 1000);
  }

  /// Of all that there are.
  double best_us() const {
    double best = std::numeric_limits<double>::infinity();
    for (std::uint64_t index = 0; index < space_->size(); ++index)
      best = std::min(best, time_us(index).value_or(best));
    return best;
  }

 private:
  static std::uint64_t drawn(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t value = (state ^ (state >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31U);
  }

  const Space* space_;
  std::vector<std::size_t> counts_;
  std::vector<double> best_;  ///< by parameter, relative to its range
};

}  // namespace tiletune
