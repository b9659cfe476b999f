#include "rank/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>

namespace tiletune {

namespace {

/// What the sides have of a problem, whatever the state of the cache.
struct Candidates {
  std::string problem;
  std::string conditions;
  std::string gpu;  ///< empty when sides are GPUs
  std::string definition;
  std::vector<std::vector<const ComparableRows*>> of_sides;
};

/// Problems of several sides, in order of first appearance.
class CandidateList {
 public:
  CandidateList(CompareBy by, const std::vector<Side>& sides, const GpuAlias& alias)
      : by_(by), sides_(sides.size()) {
    std::map<std::string, std::set<Source>> recorded;
    for (const Side& side : sides)
      for (const auto& [gpu, sources] : side.gpus) recorded[gpu].insert(sources.begin(), sources.end());
    names_ = meant_gpus(recorded, alias);
  }

  void add(std::size_t side, const ComparableRows& rows) {
    if (by_ == CompareBy::gpu) return add(side, rows, "");
    for (const std::string& gpu : names_.at(rows.what->gpu)) add(side, rows, gpu);
  }

  std::vector<Candidates> all;

 private:
  void add(std::size_t side, const ComparableRows& rows, const std::string& gpu) {
    // Rows of an earlier version have no operation_hash: they are compared with any.
    const Comparable what = without_cache(rows.what->unmarked());
    std::vector<std::size_t>& alike = places_[{what.problem, what.conditions, gpu}];
    const auto same = std::ranges::find_if(alike, [&](std::size_t place) {
      const std::string& definition = all[place].definition;
      return definition == what.definition || definition.empty() || what.definition.empty();
    });
    const std::size_t place = same == alike.end() ? all.size() : *same;
    if (same == alike.end()) {
      all.push_back({what.problem,
                     alike.empty() ? what.conditions : what.marked().conditions,
                     gpu,
                     what.definition,
                     {}});
      all.back().of_sides.resize(sides_);
      alike.push_back(place);
    }
    if (all[place].definition.empty()) all[place].definition = what.definition;
    all[place].of_sides[side].push_back(&rows);
  }

  CompareBy by_;
  std::size_t sides_;
  std::map<std::string, std::vector<std::string>> names_;
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::size_t>> places_;
};

/// Measured rows with different states of the cache make problems of their own.
std::set<std::string> caches_of(const Candidates& candidates) {
  std::set<std::string> caches;
  for (const auto& side : candidates.of_sides) {
    for (const ComparableRows* rows : side)
      if (!rows->what->cache.empty()) caches.insert(rows->what->cache);
  }
  if (caches.empty()) caches.insert("");
  return caches;
}

/// Chooses from several sets of one side; null where it has none.
const ComparableRows* most_trusted(const std::vector<const ComparableRows*>& sets, const std::string& cache,
                                   std::set<Source>& left_out) {
  static constexpr std::array kMostTrustedFirst{Source::measured, Source::replayed, Source::imported,
                                                Source::predicted};
  const auto rank = [&](const ComparableRows& rows) {
    return std::tuple(std::ranges::find(kMostTrustedFirst, rows.what->source), rows.kernels.empty(),
                      rows.what->cache != cache, rows.what->definition.empty());
  };
  const ComparableRows* best = nullptr;
  for (const ComparableRows* rows : sets) {
    if (!rows->what->cache.empty() && rows->what->cache != cache) continue;
    if (best == nullptr || rank(*rows) < rank(*best)) {
      if (best != nullptr && best->what->source != rows->what->source) left_out.insert(best->what->source);
      best = rows;
    } else if (rows->what->source != best->what->source) {
      left_out.insert(rows->what->source);
    }
  }
  return best;
}

/// Notes what the side has of the problem, there and in the comparison.
void note_side(const ComparableRows& rows, SideOfProblem& side, ComparedSide& of_all) {
  side.has_rows = true;
  side.has_kernels = !rows.kernels.empty();
  side.source = rows.what->source;
  side.gpu = rows.what->gpu;
  if (!side.has_kernels) return;
  of_all.sources.insert(side.source);
  ++of_all.problems;
}

void compare(const Candidates& candidates, const std::string& cache, Comparison& comparison) {
  const char* separator = candidates.conditions.empty() || cache.empty() ? "" : ", ";
  ComparedProblem problem;
  problem.problem = candidates.problem;
  problem.conditions = candidates.conditions + separator + cache;
  problem.cache = cache;
  problem.gpu = candidates.gpu;
  problem.sides.resize(comparison.sides.size());
  std::vector<const ComparableRows*> sets;
  for (std::size_t i = 0; i < comparison.sides.size(); ++i) {
    sets.push_back(most_trusted(candidates.of_sides[i], cache, problem.sides[i].left_out));
    if (sets[i] != nullptr) note_side(*sets[i], problem.sides[i], comparison.sides[i]);
  }
  // What failed everywhere is for no one to choose from.
  if (problem.sides_with_kernels() == 0) return;
  while (!problem.sides[problem.first_side].has_kernels) ++problem.first_side;
  compare_rows(sets, problem);
  comparison.problems.push_back(std::move(problem));
}

/// From the median to an end of its interval, as a fraction, without the half noise floor of the ranking.
double width_to(double end_us, const SideOfProblem& side) {
  return std::max(0.0,
                  std::abs(end_us / side.fastest.time_us - 1) - side.noise_floor_percent.value_or(0) / 200);
}

Difference difference_of(const SideOfProblem& before, const SideOfProblem& now) {
  if (!now.has_kernels) return {INFINITY, INFINITY, INFINITY, 0, Verdict::slower};
  const double noise =
      std::max({kNoiseBetweenSweepsPercent, before.noise_floor_percent.value_or(kAssumedNoisePercent),
                now.noise_floor_percent.value_or(kAssumedNoisePercent)});
  const double change = std::log(now.fastest.time_us) - std::log(before.fastest.time_us);
  const auto half_interval = [&](double now_us, double before_us) {
    return std::hypot(std::hypot(width_to(now_us, now), width_to(before_us, before)), noise / 100);
  };
  const auto percent_of = [](double log_ratio) { return 100 * std::expm1(log_ratio); };
  const double low = percent_of(change - half_interval(now.fastest.low_us, before.fastest.high_us));
  const double high = percent_of(change + half_interval(now.fastest.high_us, before.fastest.low_us));
  const Verdict verdict = low > noise                                    ? Verdict::slower
                          : high < -noise                                ? Verdict::faster
                          : low >= -kSamePercent && high <= kSamePercent ? Verdict::same
                                                                         : Verdict::unclear;
  return {percent_of(change), low, high, noise, verdict};
}

void add_differences(const Databases& databases, ComparedProblem& problem) {
  const SideOfProblem& first = problem.sides[problem.first_side];
  for (std::size_t i = problem.first_side; i < problem.sides.size(); ++i) {
    SideOfProblem& side = problem.sides[i];
    if (side.source == Source::predicted)
      side.noise_floor_percent = INFINITY;  // their errors are not known
    else if (side.has_kernels)
      side.noise_floor_percent = databases.row(side.fastest.id).noise_floor_percent;
    if (side.has_rows && &side != &first) side.difference = difference_of(first, side);
  }
}

}  // namespace

std::size_t ComparedProblem::sides_with_kernels() const {
  return static_cast<std::size_t>(std::ranges::count(sides, true, &SideOfProblem::has_kernels));
}

bool Comparison::mixes_sources() const {
  std::set<Source> all;
  for (const ComparedSide& side : sides) all.insert(side.sources.begin(), side.sources.end());
  return all.size() > 1;
}

Comparison compare_sides(CompareBy by, std::vector<Side>& sides, const GpuAlias& alias) {
  if (sides.size() > kMostSides) {
    throw UserError(fmt::format("{} sides to compare, at most {} can be", sides.size(), kMostSides),
                    "Choose fewer rows with --gpu, --sweep or --problem.");
  }
  Comparison comparison;
  comparison.by = by;
  for (const Side& side : sides) {
    ComparedSide& compared = comparison.sides.emplace_back(ComparedSide{side.name, {}, side.drivers, {}, 0});
    for (const auto& [gpu, sources] : side.gpus) compared.gpus.insert(gpu);
  }
  std::deque<std::vector<ComparableRows>> sets;
  CandidateList candidates(by, sides, alias);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    for (RankingRows& rows : sides[i].rows) {
      for (const ComparableRows& set : sets.emplace_back(rows.comparable(Groups::all)))
        candidates.add(i, set);
    }
  }
  for (const Candidates& each : candidates.all)
    for (const std::string& cache : caches_of(each)) compare(each, cache, comparison);
  return comparison;
}

Comparison compare_databases(const Databases& databases, const ComparedRows& rows, const GpuAlias& alias) {
  TrialFilter kernels = rows.filter;
  kernels.baselines = false;
  SideRows dealt(rows.by, rows.database_names, alias);
  std::size_t other_statistic = 0;
  databases.for_each(kernels, compare_columns(), [&](std::int64_t id, Trial& trial) {
    if (!take_statistic(rows.statistic, trial)) ++other_statistic;
    dealt.add(Databases::index_of(id), id, trial);
  });
  std::vector<Side> sides = dealt.take(rows.names);
  Comparison comparison;
  if (sides.size() > 1)
    comparison = compare_sides(rows.by, sides, alias);
  else if (!sides.empty())
    comparison.sides.push_back({sides.front().name, {}, {}, {}, 0});
  for (ComparedProblem& problem : comparison.problems) add_differences(databases, problem);
  comparison.recorded = dealt.recorded();
  comparison.statistic = rows.statistic;
  comparison.other_statistic = other_statistic;
  return comparison;
}

std::vector<UnmeasuredTransfer> unmeasured_transfers(const Comparison& comparison) {
  std::vector<UnmeasuredTransfer> transfers;
  for (std::size_t p = 0; p < comparison.problems.size(); ++p) {
    const ComparedProblem& problem = comparison.problems[p];
    for (std::size_t from = 0; from < problem.best_of.size(); ++from) {
      const std::vector<Standing>& on = problem.best_of[from].on;
      for (std::size_t to = 0; to < on.size(); ++to)
        if (on[to].known == Known::unmeasured) transfers.push_back({p, from, to, on[from].id});
    }
  }
  return transfers;
}

std::vector<Slowdown> slowdowns(const Comparison& comparison, double above_percent) {
  std::vector<Slowdown> slower;
  for (std::size_t p = 0; p < comparison.problems.size(); ++p) {
    const std::vector<SideOfProblem>& sides = comparison.problems[p].sides;
    for (std::size_t side = 0; side < sides.size(); ++side) {
      const Difference found = sides[side].difference.value_or(Difference());
      if (found.percent > above_percent)
        slower.push_back({p, side, found.verdict == Verdict::slower && found.low_percent > above_percent});
    }
  }
  return slower;
}

std::vector<Unchecked> unchecked(const Comparison& comparison) {
  std::vector<Unchecked> lacking;
  for (std::size_t p = 0; p < comparison.problems.size(); ++p) {
    const std::vector<SideOfProblem>& sides = comparison.problems[p].sides;
    for (std::size_t later = comparison.problems[p].first_side + 1; later < sides.size(); ++later)
      if (!sides[later].has_rows) lacking.push_back({p, later});
  }
  return lacking;
}

}  // namespace tiletune
