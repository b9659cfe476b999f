#include "rank/ranking.h"

#include <array>
#include <optional>
#include <set>

namespace tiletune {

namespace {

/// Whether `a` is the better choice where time cannot distinguish them: it was chosen before, or needs less.
bool preferred(const RankingRow* a, const RankingRow* b) {
  if (a->chosen_at != b->chosen_at) return b->chosen_at < a->chosen_at;
  return std::make_tuple(a->registers, -a->occupancy) < std::make_tuple(b->registers, -b->occupancy);
}

/// A kernel among those of its group.
struct PlacedKernel {
  const RankingRow* row;
  std::uint32_t tie;  ///< number of those that share its rank
  bool is_behind;     ///< slower than a kernel that can be distinguished from the fastest of the tie
};

/// Returns kernels in order of ranking. `kernels` come fastest first.
std::vector<PlacedKernel> in_ranking_order(std::span<const RankingRow> kernels) {
  // Where the intervals of the fastest kernels of ties end, and which ties these are: of the deciding finals,
  // and of others. Each of these intervals begins behind the one before.
  std::array<std::vector<std::pair<double, std::uint32_t>>, 2> leaders_of_kinds;
  std::uint32_t ties = 0;
  std::vector<PlacedKernel> placed;
  placed.reserve(kernels.size());
  for (const RankingRow& kernel : kernels) {
    auto& leaders = leaders_of_kinds.at(kernel.in_finals ? 0 : 1);
    const auto leader = std::ranges::lower_bound(leaders, std::pair(kernel.low_us, std::uint32_t{0}));
    const bool leads = leader == leaders.end();
    placed.push_back({&kernel, leads ? ties : leader->second, !leads && leader + 1 != leaders.end()});
    if (leads) leaders.emplace_back(kernel.high_us, ties++);
  }
  std::ranges::stable_sort(placed, [](const PlacedKernel& a, const PlacedKernel& b) {
    if (a.tie != b.tie || a.is_behind != b.is_behind || a.is_behind)
      return std::tie(a.tie, a.is_behind) < std::tie(b.tie, b.is_behind);
    return preferred(a.row, b.row);
  });
  return placed;
}

RankedRow place_at(const RankingRow& row, int rank, bool tied) {
  return {row.id, rank, tied, row.in_finals, row.has_discards};
}

RankingGroup rank_group(const ComparableRows& rows) {
  RankingGroup group{*rows.what, {}, {}};
  const std::vector<PlacedKernel> kernels = in_ranking_order(rows.kernels);
  group.rows.reserve(kernels.size());
  for (std::size_t first = 0, i = 0; i < kernels.size(); ++i) {
    if (kernels[i].tie != kernels[first].tie) first = i;
    const bool ties_with_next = i + 1 < kernels.size() && kernels[i + 1].tie == kernels[i].tie;
    group.rows.push_back(place_at(*kernels[i].row, static_cast<int>(first) + 1, i > first || ties_with_next));
  }
  for (const RankingRow& kernel : rows.kernels)
    if (is_newer(kernel, group.newest)) group.newest = kernel;
  // The slowest first, so that it stands behind the others at the same place.
  for (std::size_t i = rows.baselines.size(); i-- > 0;) {
    const RankingRow& baseline = rows.baselines[i];
    const auto last_faster = std::find_if(kernels.rbegin(), kernels.rend(), [&](const PlacedKernel& kernel) {
      return kernel.row->time_us <= baseline.time_us;
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
  std::vector<const RankingRow*> leaders;
  std::optional<std::size_t> behind;  // how many are not slower than a kernel that can be distinguished
  for (const RankingRow& kernel : rows.kernels) {
    if (kernel.in_finals != fastest.in_finals || kernel.is_screened != fastest.is_screened) continue;
    if (kernel.low_us <= fastest.high_us)
      leaders.push_back(&kernel);
    else if (!behind)
      behind = leaders.size();
  }
  std::stable_sort(leaders.begin(),
                   leaders.begin() + static_cast<std::ptrdiff_t>(behind.value_or(leaders.size())), preferred);
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
