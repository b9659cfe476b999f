#include "rank/groups.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

namespace tiletune {

namespace {

bool faster(const Trial& a, const Trial& b) {
  return std::make_tuple(*ranking_time_us(a), std::cref(a.key)) <
         std::make_tuple(*ranking_time_us(b), std::cref(b.key));
}

}  // namespace

std::optional<double> ranking_time_us(const Trial& trial) {
  if (trial.outcome != Outcome::ok) return std::nullopt;
  const bool by_prediction = trial.source == Source::predicted && trial.predicted_us.has_value();
  const std::optional<double> time = by_prediction ? trial.predicted_us : trial.median_us;
  return time.has_value() && std::isfinite(*time) && *time > 0 ? time : std::nullopt;
}

std::vector<ComparableRows> comparable_rows(const std::vector<Trial>& trials) {
  std::vector<ComparableRows> groups;
  std::map<std::tuple<std::string, std::string, Source>, std::size_t> places;
  for (const Trial& trial : trials) {
    if (!ranking_time_us(trial)) continue;
    const auto [place, is_new] = places.try_emplace({trial.gpu, trial.problem, trial.source}, groups.size());
    if (is_new) groups.push_back({trial.gpu, trial.problem, trial.source, {}, {}});
    ComparableRows& group = groups[place->second];
    (trial.kind == "baseline" ? group.baselines : group.kernels).push_back(trial);
  }
  for (ComparableRows& group : groups) {
    std::sort(group.kernels.begin(), group.kernels.end(), faster);
    std::sort(group.baselines.begin(), group.baselines.end(), faster);
  }
  return groups;
}

}  // namespace tiletune
