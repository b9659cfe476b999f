#include "rank/ranking.h"

#include <algorithm>
#include <tuple>

namespace tiletune {

namespace {

using Kernels = std::vector<const RankingRow*>;

bool overlap(const RankingRow& a, const RankingRow& b) {
  return a.low_us <= b.high_us && b.low_us <= a.high_us;
}

/// Of kernels that cannot be told apart by time, the one that needs less is the better choice.
bool preferred(const RankingRow* a, const RankingRow* b) {
  return std::make_tuple(a->registers, -a->occupancy) < std::make_tuple(b->registers, -b->occupancy);
}

/// `kernels` fastest first; those of a tie are brought into their order.
std::vector<RankedRow> rank_kernels(Kernels& kernels) {
  std::vector<RankedRow> ranked;
  ranked.reserve(kernels.size());
  for (std::size_t first = 0; first < kernels.size();) {
    std::size_t end = first + 1;
    while (end < kernels.size() && overlap(*kernels[first], *kernels[end])) ++end;
    const auto begin = kernels.begin();
    std::stable_sort(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end),
                     preferred);
    const bool tied = end - first > 1;
    for (std::size_t i = first; i < end; ++i) {
      ranked.push_back({kernels[i]->id, static_cast<int>(first) + 1, tied});
    }
    first = end;
  }
  return ranked;
}

/// The number of kernels up to the last one that is at least as fast as a baseline.
std::ptrdiff_t place_of(const RankingRow& baseline, const Kernels& kernels) {
  const auto last_faster = std::find_if(kernels.rbegin(), kernels.rend(), [&](const RankingRow* kernel) {
    return kernel->time_us <= baseline.time_us;
  });
  return last_faster.base() - kernels.begin();
}

RankingGroup rank_group(const ComparableRows& rows) {
  Kernels kernels;
  kernels.reserve(rows.kernels.size());
  for (const RankingRow& kernel : rows.kernels) kernels.push_back(&kernel);
  RankingGroup group{*rows.what, rank_kernels(kernels)};
  // The slowest first, so that it stands behind the others at the same place.
  for (std::size_t i = rows.baselines.size(); i-- > 0;) {
    const RankingRow& baseline = rows.baselines[i];
    group.rows.insert(group.rows.begin() + place_of(baseline, kernels), {baseline.id, 0, false});
  }
  return group;
}

}  // namespace

std::vector<RankingGroup> rank_rows(RankingRows& rows) {
  std::vector<RankingGroup> groups;
  for (const ComparableRows& comparable : rows.comparable()) groups.push_back(rank_group(comparable));
  return groups;
}

}  // namespace tiletune
