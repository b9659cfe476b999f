#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/messages.h"
#include "store/database.h"
#include "tune/task_queue.h"

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
  /// How likely each finalist is within 1% of the best.
  std::vector<double> probability_near_best;
  /// How far two copies of one kernel differ at most, with 95% confidence; none without a second copy.
  std::optional<double> noise_floor_percent;
};

/// By a bootstrap over the rounds: in every draw the same rounds are drawn for all, so that what changed for
/// all of them from round to round cancels out where they are compared (Efron and Tibshirani, An Introduction
/// to the Bootstrap, 13.3). The same samples give the same statistics.
FinalsStatistics finals_statistics(const FinalsSamples& samples, int draws = 2000, std::uint64_t seed = 1);

/// The rows that were timed in a workload's finals, with their new times and the finals' statistics:
/// baselines, matched by name; finalists that still rank, the leader first; and the second copy, which
/// gets its own row. Empty if no finalist has a time.
std::vector<Trial> final_rows(const Database& database, const WorkloadFinals& finals,
                              const FinalsMeasured& measured, const GpuSlot& slot, const Task& task);

}  // namespace tiletune
