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

/// Grows with time: a row that a later sweep made or used again is newer.
std::tuple<std::int64_t, std::string_view> age(const Trial& trial) {
  return {trial.seen_in_sweep, trial.recorded_at};
}

bool did_not_run(const Trial& trial) { return !ranking_time_us(trial).has_value(); }

/// Later rows of the same template and parameters replace earlier ones; the order of the others stays.
void keep_latest(std::vector<Trial>& rows) {
  std::map<std::pair<std::string, std::string>, std::size_t> latest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [place, is_new] = latest.try_emplace({rows[i].template_name, rows[i].parameters}, i);
    if (!is_new && age(rows[i]) >= age(rows[place->second])) place->second = i;
  }
  std::vector<Trial> kept;
  kept.reserve(latest.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (latest.at({rows[i].template_name, rows[i].parameters}) == i) kept.push_back(std::move(rows[i]));
  }
  rows = std::move(kept);
}

}  // namespace

std::optional<double> ranking_time_us(const Trial& trial) {
  if (trial.outcome != Outcome::ok) return std::nullopt;
  const bool by_prediction = trial.source == Source::predicted && trial.predicted_us.has_value();
  const std::optional<double> time = by_prediction ? trial.predicted_us : trial.median_us;
  return time.has_value() && std::isfinite(*time) && *time > 0 ? time : std::nullopt;
}

std::string conditions_of(const Trial& trial) {
  std::string text;
  for (const std::string& part : {trial.operation, trial.element_types, trial.scalars, trial.cache}) {
    if (part.empty()) continue;
    text += text.empty() ? part : ", " + part;
  }
  return text;
}

std::vector<ComparableRows> comparable_rows(const std::vector<Trial>& trials) {
  std::vector<ComparableRows> groups;
  std::map<std::tuple<std::string, std::string, Source, std::string>, std::size_t> places;
  for (const Trial& trial : trials) {
    if (trial.outcome == Outcome::dispatched) continue;
    const std::string conditions = conditions_of(trial);
    const auto [place, is_new] =
        places.try_emplace({trial.gpu, trial.problem, trial.source, conditions}, groups.size());
    if (is_new) groups.push_back({trial.gpu, trial.problem, trial.source, conditions, {}, {}});
    ComparableRows& group = groups[place->second];
    (trial.kind == "baseline" ? group.baselines : group.kernels).push_back(trial);
  }
  for (ComparableRows& group : groups) {
    keep_latest(group.kernels);
    keep_latest(group.baselines);
    // Only now: a kernel that has become wrong must not rank with the time of its former source.
    std::erase_if(group.kernels, did_not_run);
    std::erase_if(group.baselines, did_not_run);
    std::sort(group.kernels.begin(), group.kernels.end(), faster);
    std::sort(group.baselines.begin(), group.baselines.end(), faster);
  }
  std::erase_if(groups, [](const ComparableRows& group) { return group.kernels.empty(); });
  return groups;
}

}  // namespace tiletune
