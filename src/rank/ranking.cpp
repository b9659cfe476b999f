#include "rank/ranking.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "rank/groups.h"

namespace tiletune {

namespace {

struct Interval {
  double low = 0;
  double high = 0;
};

/// Predictions are exact numbers of a model: only equal ones tie.
Interval interval_of(const Trial& trial) {
  const double time = *ranking_time_us(trial);
  if (trial.source == Source::predicted) return {time, time};
  return {std::min(time, trial.ci_low_us.value_or(time)), std::max(time, trial.ci_high_us.value_or(time))};
}

bool overlap(const Interval& a, const Interval& b) { return a.low <= b.high && b.low <= a.high; }

/// Of kernels that cannot be told apart by time, the one that needs less is the better choice.
bool preferred(const RankedTrial& a, const RankedTrial& b) {
  const auto order = [](const Trial& trial) {
    return std::make_tuple(trial.registers.value_or(std::numeric_limits<std::int64_t>::max()),
                           -trial.occupancy.value_or(0.0));
  };
  return order(a.trial) < order(b.trial);
}

/// `kernels` fastest first.
std::vector<RankedTrial> rank_kernels(std::vector<Trial> kernels) {
  std::vector<RankedTrial> ranked;
  for (std::size_t first = 0; first < kernels.size();) {
    const Interval leader = interval_of(kernels[first]);
    std::size_t end = first + 1;
    while (end < kernels.size() && overlap(leader, interval_of(kernels[end]))) ++end;
    const bool tied = end - first > 1;
    for (std::size_t i = first; i < end; ++i) {
      ranked.push_back({std::move(kernels[i]), static_cast<int>(first) + 1, tied});
    }
    std::stable_sort(ranked.begin() + static_cast<std::ptrdiff_t>(first), ranked.end(), preferred);
    first = end;
  }
  return ranked;
}

void insert_baseline(std::vector<RankedTrial>& rows, Trial baseline) {
  const double time = *ranking_time_us(baseline);
  const auto last_faster = std::find_if(rows.rbegin(), rows.rend(), [&](const RankedTrial& row) {
    return *ranking_time_us(row.trial) <= time;
  });
  rows.insert(last_faster.base(), {std::move(baseline), 0, false});
}

}  // namespace

std::vector<RankingGroup> rank_trials(const std::vector<Trial>& trials) {
  std::vector<RankingGroup> groups;
  for (ComparableRows& rows : comparable_rows(trials)) {
    RankingGroup group{rows.gpu, rows.problem, rows.source, rows.conditions,
                       rank_kernels(std::move(rows.kernels))};
    for (Trial& baseline : rows.baselines) insert_baseline(group.rows, std::move(baseline));
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace tiletune
