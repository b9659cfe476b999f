#include "rank/ranking.h"

#include <set>

namespace tiletune {

namespace {

using Kernels = std::vector<const RankingRow*>;

bool overlap(const RankingRow& a, const RankingRow& b) {
  return a.low_us <= b.high_us && b.low_us <= a.high_us;
}

/// Whether `a` needs less than `b`, and so is the better choice where time cannot distinguish them.
bool preferred(const RankingRow* a, const RankingRow* b) {
  return std::make_tuple(a->registers, -a->occupancy) < std::make_tuple(b->registers, -b->occupancy);
}

/// Kernels that may tie with each other, fastest first, and how many of them have their place.
struct UnplacedKernels {
  Kernels kernels = {};
  std::size_t placed = 0;

  bool empty() const { return placed == kernels.size(); }
  const RankingRow* next() const { return kernels[placed]; }
};

/// Takes the next kernel and those that follow it without a gap and cannot be distinguished from it.
std::span<const RankingRow*> take_tie(UnplacedKernels& unplaced) {
  const std::size_t first = unplaced.placed;
  do {
    ++unplaced.placed;
  } while (!unplaced.empty() && overlap(*unplaced.kernels[first], *unplaced.next()));
  return std::span(unplaced.kernels).subspan(first, unplaced.placed - first);
}

RankedRow place_at(const RankingRow& row, int rank, bool tied) {
  return {row.id, rank, tied, row.in_finals, row.has_discards};
}

/// `kernels` fastest first.
Kernels in_ranking_order(std::span<const RankingRow> kernels, std::vector<RankedRow>& ranked) {
  UnplacedKernels finals;
  UnplacedKernels others;
  for (const RankingRow& kernel : kernels) (kernel.in_finals ? finals : others).kernels.push_back(&kernel);
  Kernels ordered;
  ordered.reserve(kernels.size());
  ranked.reserve(kernels.size());
  while (!finals.empty() || !others.empty()) {
    // All lie in one array, fastest first, so the earlier one is the faster one.
    const bool finals_lead = others.empty() || (!finals.empty() && finals.next() < others.next());
    const auto tie = take_tie(finals_lead ? finals : others);
    std::stable_sort(tie.begin(), tie.end(), preferred);
    const int rank = static_cast<int>(ordered.size()) + 1;
    for (const RankingRow* kernel : tie) ranked.push_back(place_at(*kernel, rank, tie.size() > 1));
    ordered.insert(ordered.end(), tie.begin(), tie.end());
  }
  return ordered;
}

RankingGroup rank_group(const ComparableRows& rows) {
  RankingGroup group{*rows.what, {}, {}};
  const Kernels kernels = in_ranking_order(rows.kernels, group.rows);
  for (const RankingRow& kernel : rows.kernels)
    if (is_newer(kernel, group.newest)) group.newest = kernel;
  // The slowest first, so that it stands behind the others at the same place.
  for (std::size_t i = rows.baselines.size(); i-- > 0;) {
    const RankingRow& baseline = rows.baselines[i];
    const auto last_faster = std::find_if(kernels.rbegin(), kernels.rend(), [&](const RankingRow* kernel) {
      return kernel->time_us <= baseline.time_us;
    });
    group.rows.insert(group.rows.begin() + (last_faster.base() - kernels.begin()),
                      place_at(baseline, 0, false));
  }
  return group;
}

}  // namespace

std::vector<RankingGroup> rank_rows(RankingRows& rows) {
  std::vector<RankingGroup> groups;
  for (const ComparableRows& comparable : rows.comparable()) groups.push_back(rank_group(comparable));
  return groups;
}

std::vector<const RankingRow*> leaders_of(const ComparableRows& rows) {
  const auto is_sampled = [](const RankingRow& kernel) { return !kernel.is_screened; };
  const auto sampled = std::find_if(rows.kernels.begin(), rows.kernels.end(), is_sampled);
  const RankingRow& fastest = sampled == rows.kernels.end() ? rows.kernels.front() : *sampled;
  Kernels leaders;
  for (const RankingRow& kernel : rows.kernels) {
    if (kernel.in_finals != fastest.in_finals || kernel.is_screened != fastest.is_screened) continue;
    if (!overlap(fastest, kernel)) break;
    leaders.push_back(&kernel);
  }
  std::stable_sort(leaders.begin(), leaders.end(), preferred);
  return leaders;
}

std::vector<RankedRow> leaders_of(const RankingGroup& group) {
  std::vector<RankedRow> leaders;
  std::copy_if(group.rows.begin(), group.rows.end(), std::back_inserter(leaders),
               [](const RankedRow& row) { return row.rank == 1; });
  return leaders;
}

std::vector<Ladder> build_ladders(RankingRows& rows, const std::vector<LadderStep>& steps) {
  std::vector<Ladder> ladders;
  for (const ComparableRows& comparable : rows.comparable()) {
    Ladder ladder{*comparable.what, {}};
    double first_us = 0;
    double previous_us = 0;
    const auto add = [&](const RankingRow& row, const std::string& step) {
      if (ladder.rungs.empty()) first_us = previous_us = row.time_us;
      ladder.rungs.push_back({row.id, step, first_us / row.time_us, previous_us / row.time_us});
      previous_us = row.time_us;
    };
    std::set<std::string> whole;  // a config may list variants of one template
    for (const LadderStep& step : steps) {
      if (step.name.empty() && !whole.insert(step.template_name).second) continue;
      // Kernels are ordered by time.
      const auto fastest = std::ranges::find_if(comparable.kernels, [&](const RankingRow& kernel) {
        return rows.kernel_templates()[kernel.template_number] == step.template_name &&
               (!step.takes || step.takes(kernel.id));
      });
      if (fastest != comparable.kernels.end()) add(*fastest, step.name);
    }
    if (ladder.rungs.empty()) continue;
    for (const RankingRow& baseline : comparable.baselines) add(baseline, "");
    ladders.push_back(std::move(ladder));
  }
  return ladders;
}

}  // namespace tiletune
