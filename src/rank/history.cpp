#include "rank/history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace tiletune {

namespace {

struct Evaluation {
  std::int64_t id = 0;
  double cost_s = 0;
  double time_us = 0;  ///< 0: it did not run, or was given up as slow
  bool has_cost = false;
  std::uint32_t cache = 0;  ///< place among the set's caches; of what was not timed, kNoCache
};

constexpr std::uint32_t kNoCache = std::numeric_limits<std::uint32_t>::max();

/// Of one problem, in all states of the cache.
struct Evaluations {
  std::vector<Comparable> caches;
  std::vector<Evaluation> all;
};

double first_time_us(const Trial& trial) {
  const auto time = ranking_time_us(trial);
  if (!time || trial.source == Source::predicted || trial.timed_in != "final") return time.value_or(0);
  const double first = trial.first_median_us.value_or(*time);
  return std::isfinite(first) && first > 0 ? first : *time;
}

std::uint32_t place_of(const Comparable& what, std::vector<Comparable>& caches) {
  const auto found = std::find(caches.begin(), caches.end(), what);
  const auto place = static_cast<std::uint32_t>(found - caches.begin());
  if (found == caches.end()) caches.push_back(what);
  return place;
}

Evaluation evaluation_of(std::int64_t id, const Trial& trial, const Comparable& what,
                         std::vector<Comparable>& caches) {
  Evaluation evaluation{id, 0, first_time_us(trial), trial.compile_ms || trial.measure_ms, kNoCache};
  constexpr double kMsPerSecond = 1000;
  for (const auto& part : {trial.compile_ms, trial.measure_ms})
    if (part && std::isfinite(*part) && *part > 0) evaluation.cost_s += *part / kMsPerSecond;
  if (evaluation.time_us > 0 || !what.cache.empty()) evaluation.cache = place_of(what, caches);
  return evaluation;
}

History history_of(const Evaluations& evaluations, std::uint32_t cache) {
  History history{evaluations.caches[cache]};
  double best = std::numeric_limits<double>::infinity();
  for (const Evaluation& one : evaluations.all) {
    if (one.cache != cache && one.cache != kNoCache) continue;
    ++history.evaluations;
    history.cost_s += one.cost_s;
    if (!one.has_cost) ++history.without_cost;
    if (one.time_us == 0 || one.time_us >= best) continue;
    best = one.time_us;
    history.steps.push_back({one.id, history.evaluations, history.cost_s, best});
  }
  return history;
}

}  // namespace

std::vector<History> histories(const Database& database, const TrialFilter& filter) {
  std::map<Comparable, std::size_t> places;
  std::vector<Evaluations> problems;
  TrialFilter kernels = filter;
  kernels.kinds = {"kernel"};
  std::vector<const char*> columns(ranking_columns().begin(), ranking_columns().end());
  columns.insert(columns.end(), {"compile_ms", "measure_ms"});
  database.for_each(kernels, columns, [&](std::int64_t id, const Trial& trial) {
    if (trial.outcome == Outcome::dispatched || trial.outcome == Outcome::not_recorded) return;
    const Comparable what{trial.gpu, trial.problem, trial.source, conditions_of(trial), trial.cache};
    const auto [place, is_new] = places.try_emplace(without_cache(what), problems.size());
    if (is_new) problems.emplace_back();
    Evaluations& problem = problems[place->second];
    problem.all.push_back(evaluation_of(id, trial, what, problem.caches));
  });
  std::vector<History> all;
  for (const Evaluations& problem : problems) {
    for (std::uint32_t cache = 0; cache < problem.caches.size(); ++cache) {
      History history = history_of(problem, cache);
      if (!history.steps.empty()) all.push_back(std::move(history));
    }
  }
  return all;
}

}  // namespace tiletune
