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
  /// How far two copies of one kernel differ at most, with 95% confidence; without a twin none.
  std::optional<double> noise_floor_percent;
};

/// By a bootstrap over the rounds: in every draw the same rounds are drawn for all, so that what changed for
/// all of them from round to round cancels out where they are compared (Efron and Tibshirani, An Introduction
/// to the Bootstrap, 13.3). The same samples give the same statistics.
FinalsStatistics finals_statistics(const FinalsSamples& samples, int draws = 2000, std::uint64_t seed = 1);

/// A row and what the finals gave for it.
struct FinalRow {
  Trial row;
  const Measured* time = nullptr;  ///< with a timing
};

/// Everybody with a time in a workload's finals.
struct FinalRows {
  std::vector<FinalRow> finalists;  ///< at least one; the leader first
  std::optional<FinalRow> twin;     ///< with the leader's row
  std::vector<FinalRow> baselines;
};

/// Looks up the rows of those whose finals went well, and matches the workload's baselines by name.
FinalRows collect_final_rows(const Database& database, const WorkloadFinals& finals,
                             const FinalsMeasured& measured, const std::vector<Trial>& baselines);

/// The rows with their times in the finals in the place of those before, and what the finals' statistics say
/// of them. The twin's becomes a row of its own.
std::vector<Trial> rows_with_final_times(FinalRows finals, const GpuCondition& condition, const GpuSlot& slot,
                                         const Task& task);

}  // namespace tiletune
