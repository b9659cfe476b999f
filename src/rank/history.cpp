#include "rank/history.h"

#include <iterator>

namespace tiletune {

static constexpr std::uint32_t kNoCache = std::numeric_limits<std::uint32_t>::max();

void HistoryReader::add(std::int64_t id, const Trial& trial) {
  if (trial.kind != "kernel" || trial.outcome == Outcome::dispatched ||
      trial.outcome == Outcome::not_recorded)
    return;
  const Comparable what = comparable_of(trial);
  const auto [place, is_new] = places_.try_emplace(without_cache(what), problems_.size());
  if (is_new) problems_.emplace_back();
  Evaluations& problem = problems_[place->second];
  Evaluation evaluation{id, 0, first_time_us(trial), trial.compile_ms || trial.measure_ms, kNoCache};
  constexpr double kMsPerSecond = 1000;
  for (const auto& part : {trial.compile_ms, trial.measure_ms})
    if (part && std::isfinite(*part) && *part > 0) evaluation.cost_s += *part / kMsPerSecond;
  if (evaluation.time_us > 0 || !what.cache.empty()) {
    const auto found = std::ranges::find(problem.caches, what);
    evaluation.cache = static_cast<std::uint32_t>(found - problem.caches.begin());
    if (found == problem.caches.end()) problem.caches.push_back(what);
  }
  problem.all.push_back(evaluation);
}

std::vector<History> HistoryReader::histories() const {
  std::vector<History> all;
  for (const Evaluations& problem : problems_) {
    for (std::uint32_t cache = 0; cache < problem.caches.size(); ++cache) {
      History history{problem.caches[cache]};
      double best = std::numeric_limits<double>::infinity();
      for (const Evaluation& one : problem.all) {
        if (one.cache != cache && one.cache != kNoCache) continue;
        ++history.evaluations;
        history.cost_s += one.cost_s;
        if (!one.has_cost) ++history.without_cost;
        if (one.time_us == 0 || one.time_us >= best) continue;
        best = one.time_us;
        history.steps.push_back({one.id, history.evaluations, history.cost_s, best});
      }
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
