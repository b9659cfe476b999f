#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tiletune {

/// The times of a workload's finals, us: the sample i of each is of round i, and those that were given up
/// early have fewer.
struct FinalsSamples {
  std::vector<std::vector<double>> finalists;  ///< at least one sample each; the leader first
  std::vector<double> twin;                    ///< of the leader; may be empty
  std::vector<std::vector<double>> baselines;
};

struct MedianInterval {
  double low_us = 0;
  double high_us = 0;
};

/// What can be said of them.
struct FinalsStatistics {
  std::vector<MedianInterval> finalists;  ///< 95%
  std::optional<MedianInterval> twin;
  std::vector<MedianInterval> baselines;
  /// Of each finalist: that it is within 1% of the best.
  std::vector<double> probability_near_best;
  /// How far two copies of one kernel differ at most, with 95% confidence; without a twin none.
  std::optional<double> noise_floor_percent;
};

/// By a bootstrap over the rounds: in every draw the same rounds are drawn for all, so that what changed for
/// all of them from round to round cancels out where they are compared (Efron and Tibshirani, An Introduction
/// to the Bootstrap, 13.3). The same samples give the same statistics.
FinalsStatistics finals_statistics(const FinalsSamples& samples, int draws = 2000, std::uint64_t seed = 1);

}  // namespace tiletune
