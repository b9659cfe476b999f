#include "rank/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "rank/candidates.h"
#include "rank/compare_problem.h"

namespace tiletune {

namespace {

class Comparer {
 public:
  Comparer(CompareBy by, const std::vector<Side>& sides, const ReadParameters& read)
      : parameters_(sides, read) {
    comparison.by = by;
    comparison.written = values_in_several_writings(sides);
    for (const Side& side : sides) {
      std::set<std::string> gpus;
      for (const auto& entry : side.gpus) gpus.insert(entry.first);
      comparison.sides.push_back({side.name, gpus, side.drivers, {}, 0});
    }
  }

  Comparison comparison;

  void compare(const Candidates& candidates) {
    for (const std::string& cache : caches_of(candidates)) compare(candidates, cache);
  }

 private:
  void compare(const Candidates& candidates, const std::string& cache) {
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
    compare_rows(sets, parameters_, problem);
    comparison.problems.push_back(std::move(problem));
  }

  static void note_side(const ComparableRows& rows, SideOfProblem& side, ComparedSide& of_all) {
    side.has_rows = true;
    side.has_kernels = !rows.kernels.empty();
    side.source = rows.what->source;
    side.gpu = rows.what->gpu;
    if (!side.has_kernels) return;
    of_all.sources.insert(side.source);
    ++of_all.problems;
  }

  ParameterTable parameters_;
};

}  // namespace

std::size_t ComparedProblem::sides_with_kernels() const {
  return static_cast<std::size_t>(
      std::count_if(sides.begin(), sides.end(), [](const SideOfProblem& side) { return side.has_kernels; }));
}

bool Comparison::mixes_sources() const {
  std::set<Source> all;
  for (const ComparedSide& side : sides) all.insert(side.sources.begin(), side.sources.end());
  return all.size() > 1;
}

Comparison compare_sides(CompareBy by, std::vector<Side>& sides, const GpuAlias& alias,
                         const ReadParameters& read) {
  if (sides.size() > kMostSides) {
    throw UserError(fmt::format("{} sides to compare, at most {} can be", sides.size(), kMostSides),
                    "Choose fewer rows with --gpu, --sweep or --problem.");
  }
  Comparer comparer(by, sides, read);
  std::deque<std::vector<ComparableRows>> sets;
  CandidateList candidates(by, sides, alias);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    for (RankingRows& rows : sides[i].rows) {
      for (const ComparableRows& set : sets.emplace_back(rows.comparable(Groups::all)))
        candidates.add(i, set);
    }
  }
  for (const Candidates& each : candidates.all) comparer.compare(each);
  return std::move(comparer.comparison);
}

std::vector<UnmeasuredTransfer> unmeasured_transfers(const Comparison& comparison) {
  std::vector<UnmeasuredTransfer> transfers;
  for (std::size_t p = 0; p < comparison.problems.size(); ++p) {
    const ComparedProblem& problem = comparison.problems[p];
    for (std::size_t from = 0; from < problem.best_of.size(); ++from) {
      const std::vector<Standing>& on = problem.best_of[from].on;
      for (std::size_t to = 0; to < on.size(); ++to) {
        if (on[to].known == Known::unmeasured) transfers.push_back({p, from, to, on[from].id});
      }
    }
  }
  return transfers;
}

namespace {

/// Of a problem that ran somewhere.
std::size_t first_with_kernels(const ComparedProblem& problem) {
  const auto first = std::find_if(problem.sides.begin(), problem.sides.end(),
                                  [](const SideOfProblem& side) { return side.has_kernels; });
  return static_cast<std::size_t>(first - problem.sides.begin());
}

bool has_interval(const Standing& standing) { return standing.low_us < standing.high_us; }

}  // namespace

std::vector<Slowdown> slowdowns(const Comparison& comparison, double above_percent) {
  std::vector<Slowdown> slower;
  for (std::size_t p = 0; p < comparison.problems.size(); ++p) {
    const std::vector<SideOfProblem>& sides = comparison.problems[p].sides;
    const std::size_t first = first_with_kernels(comparison.problems[p]);
    const Standing& before = sides[first].fastest;
    for (std::size_t later = first + 1; later < sides.size(); ++later) {
      const Standing& now = sides[later].fastest;
      if (!sides[later].has_rows) continue;
      if (!sides[later].has_kernels) {
        slower.push_back({p, first, later, {}, true, false});
        continue;
      }
      const double percent = 100 * (now.time_us / before.time_us - 1);
      if (percent <= above_percent) continue;
      slower.push_back(
          {p, first, later, percent, now.low_us > before.high_us, has_interval(before) || has_interval(now)});
    }
  }
  return slower;
}

std::vector<Unchecked> unchecked(const Comparison& comparison) {
  std::vector<Unchecked> lacking;
  for (std::size_t p = 0; p < comparison.problems.size(); ++p) {
    const std::vector<SideOfProblem>& sides = comparison.problems[p].sides;
    for (std::size_t later = first_with_kernels(comparison.problems[p]) + 1; later < sides.size(); ++later) {
      if (!sides[later].has_rows) lacking.push_back({p, later});
    }
  }
  return lacking;
}

}  // namespace tiletune
