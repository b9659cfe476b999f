#include "rank/history.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

namespace tiletune {

namespace {

constexpr std::uint32_t kNoCache = std::numeric_limits<std::uint32_t>::max();

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

}  // namespace

HistoryReader::Evaluation HistoryReader::evaluation_of(std::int64_t id, const Trial& trial,
                                                       const Comparable& what,
                                                       std::vector<Comparable>& caches) {
  Evaluation evaluation{id, 0, first_time_us(trial), trial.compile_ms || trial.measure_ms, kNoCache};
  constexpr double kMsPerSecond = 1000;
  for (const auto& part : {trial.compile_ms, trial.measure_ms})
    if (part && std::isfinite(*part) && *part > 0) evaluation.cost_s += *part / kMsPerSecond;
  if (evaluation.time_us > 0 || !what.cache.empty()) evaluation.cache = place_of(what, caches);
  return evaluation;
}

History HistoryReader::history_of(const Evaluations& evaluations, std::uint32_t cache) {
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

void HistoryReader::add(std::int64_t id, const Trial& trial) {
  if (trial.kind != "kernel" || trial.outcome == Outcome::dispatched ||
      trial.outcome == Outcome::not_recorded)
    return;
  const Comparable what{trial.gpu, trial.problem, trial.source, conditions_of(trial), trial.cache};
  const auto [place, is_new] = places_.try_emplace(without_cache(what), problems_.size());
  if (is_new) problems_.emplace_back();
  Evaluations& problem = problems_[place->second];
  problem.all.push_back(evaluation_of(id, trial, what, problem.caches));
}

std::vector<History> HistoryReader::histories() const {
  std::vector<History> all;
  for (const Evaluations& problem : problems_) {
    for (std::uint32_t cache = 0; cache < problem.caches.size(); ++cache) {
      History history = history_of(problem, cache);
      if (!history.steps.empty()) all.push_back(std::move(history));
    }
  }
  return all;
}

std::vector<HistoryStep> thinned(const std::vector<HistoryStep>& steps, std::size_t most) {
  if (steps.size() <= most) return steps;
  const double slowest = std::log(steps.front().best_us);
  const double part = (slowest - std::log(steps.back().best_us)) / static_cast<double>(most - 1);
  std::vector<HistoryStep> kept{steps.front()};
  double last_part = 0;
  for (auto step = std::next(steps.begin()); step != std::prev(steps.end()); ++step) {
    const double of_step = std::floor((slowest - std::log(step->best_us)) / part);
    if (of_step > last_part && kept.size() + 1 < most) kept.push_back(*step);
    last_part = std::max(last_part, of_step);
  }
  kept.push_back(steps.back());
  return kept;
}

std::vector<History> histories(const Database& database, const TrialFilter& filter) {
  TrialFilter kernels = filter;
  kernels.kinds = {"kernel"};
  std::vector<const char*> columns(ranking_columns().begin(), ranking_columns().end());
  columns.insert(columns.end(), HistoryReader::kMoreColumns.begin(), HistoryReader::kMoreColumns.end());
  HistoryReader reader;
  database.for_each(kernels, columns, [&](std::int64_t id, const Trial& trial) { reader.add(id, trial); });
  return reader.histories();
}

}  // namespace tiletune
