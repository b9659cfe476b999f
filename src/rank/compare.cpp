#include "rank/compare.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "rank/compare_problem.h"
#include "rank/parameters.h"

namespace tiletune {

namespace {

/// Without the state of the cache.
std::string timeless_conditions(const Comparable& what) {
  if (what.cache.empty()) return what.conditions;
  const std::size_t separator = what.conditions.size() == what.cache.size() ? 0 : 2;
  return what.conditions.substr(0, what.conditions.size() - what.cache.size() - separator);
}

/// What the sides have of a problem, whatever the state of the cache.
struct Candidates {
  std::string problem;
  std::string conditions;
  std::string gpu;
  std::vector<std::vector<const ComparableRows*>> of_sides;
};

class CandidateList {
 public:
  CandidateList(CompareBy by, std::size_t sides, const GpuAlias& alias)
      : by_(by), sides_(sides), alias_(alias) {}

  void add(std::size_t side, const ComparableRows& rows) {
    const std::string gpu = by_ == CompareBy::gpu ? "" : alias_(rows.what->gpu);
    const auto key = std::tuple(rows.what->problem, timeless_conditions(*rows.what), gpu);
    const auto [place, is_new] = places_.try_emplace(key, all.size());
    if (is_new) {
      const std::string shown_gpu = by_ == CompareBy::gpu ? "" : rows.what->gpu;
      all.push_back({rows.what->problem, std::get<1>(key), shown_gpu, {}});
      all.back().of_sides.resize(sides_);
    }
    all[place->second].of_sides[side].push_back(&rows);
  }

  std::vector<Candidates> all;

 private:
  CompareBy by_;
  std::size_t sides_;
  const GpuAlias& alias_;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places_;
};

/// Measured rows with different states of the cache make problems of their own.
std::set<std::string> caches_of(const Candidates& candidates) {
  std::set<std::string> caches;
  for (const auto& side : candidates.of_sides) {
    for (const ComparableRows* rows : side) {
      if (!rows->what->cache.empty()) caches.insert(rows->what->cache);
    }
  }
  if (caches.empty()) caches.insert("");
  return caches;
}

int distrust(Source source) {
  switch (source) {
    case Source::measured:
      return 0;
    case Source::replayed:
      return 1;
    case Source::imported:
      return 2;
    case Source::predicted:
      return 3;
  }
  return 3;
}

/// Of several sets of one side; null where it has none.
const ComparableRows* most_trusted(const std::vector<const ComparableRows*>& sets, const std::string& cache,
                                   std::set<Source>& left_out) {
  const ComparableRows* best = nullptr;
  for (const ComparableRows* rows : sets) {
    if (!rows->what->cache.empty() && rows->what->cache != cache) continue;
    if (best == nullptr || distrust(rows->what->source) < distrust(best->what->source)) {
      if (best != nullptr) left_out.insert(best->what->source);
      best = rows;
    } else if (rows->what->source != best->what->source) {
      left_out.insert(rows->what->source);
    }
  }
  return best;
}

/// What rows are told apart by whose templates have other parameters on other sides.
class CommonIdentities {
 public:
  CommonIdentities(const std::vector<Side>& sides, const ReadParameters& read) {
    std::map<std::string, std::vector<const std::set<std::string>*>> by_template;
    for (const Side& side : sides) {
      for (const auto& [kernel, lists] : side.parameter_names) by_template[kernel].push_back(&lists);
    }
    std::vector<std::string> differing;
    for (const auto& [kernel, lists] : by_template) {
      const bool same = std::all_of(lists.begin(), lists.end(), [&](const auto* list) {
        return list->size() == 1 && *list == *lists.front();
      });
      if (!same && join(kernel, lists)) differing.push_back(kernel);
    }
    if (differing.empty()) return;
    read(differing, [&](std::int64_t id, const Trial& trial) {
      const auto found = joined_.find(trial.template_name);
      if (found == joined_.end()) return;
      identities_.emplace_back(id, identity_by(trial.template_name, trial.parameters, found->second.common));
    });
  }

  Identity of(const RankingRow& row) const {
    const auto found = std::lower_bound(identities_.begin(), identities_.end(), row.id,
                                        [](const auto& entry, std::int64_t id) { return entry.first < id; });
    return found != identities_.end() && found->first == row.id ? found->second : row.identity;
  }

  /// Those whose rows are among the sets, and that lack a parameter somewhere.
  const std::map<std::string, JoinedTemplate>& joined() const { return joined_; }

 private:
  static std::set<std::string> lines_of(const std::string& text) {
    std::set<std::string> lines;
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = text.find('\n', start);
      lines.insert(text.substr(start, end - start));
      start = end + 1;
    }
    return lines;
  }

  /// False where nothing is in common: all rows would be one configuration.
  bool join(const std::string& kernel, const std::vector<const std::set<std::string>*>& lists) {
    std::map<std::string, std::size_t> uses;
    std::size_t count = 0;
    for (const auto* list : lists) {
      for (const std::string& names : *list) {
        ++count;
        for (const std::string& name : lines_of(names)) ++uses[name];
      }
    }
    JoinedTemplate joined{kernel, {}, {}};
    for (const auto& [name, times] : uses) (times == count ? joined.common : joined.ignored).insert(name);
    if (joined.common.empty()) return false;
    joined_.emplace(kernel, std::move(joined));
    return true;
  }

  std::map<std::string, JoinedTemplate> joined_;
  std::vector<std::pair<std::int64_t, Identity>> identities_;  ///< by id
};

class Comparer {
 public:
  Comparer(CompareBy by, std::vector<Side>& sides, const ReadParameters& read)
      : sides_(sides), identities_(sides, read) {
    comparison.by = by;
    for (const Side& side : sides) {
      comparison.sides.push_back({side.name, side.gpus, side.drivers, {}, 0});
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
    problem.sides.resize(sides_.size());
    std::vector<const ComparableRows*> sets;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      sets.push_back(most_trusted(candidates.of_sides[i], cache, problem.sides[i].left_out));
      if (sets[i] == nullptr) continue;
      problem.sides[i].source = sets[i]->what->source;
      problem.sides[i].gpu = sets[i]->what->gpu;
      comparison.sides[i].sources.insert(sets[i]->what->source);
      ++comparison.sides[i].problems;
    }
    note_joined(problem, sets);
    const auto identity = [&](const RankingRow& row) { return identities_.of(row); };
    const auto is_screened = [&](std::size_t side, std::int64_t id) {
      return std::binary_search(sides_[side].screened.begin(), sides_[side].screened.end(), id);
    };
    compare_rows(sets, identity, is_screened, problem);
    comparison.problems.push_back(std::move(problem));
  }

  void note_joined(ComparedProblem& problem, const std::vector<const ComparableRows*>& sets) const {
    for (const auto& [kernel, joined] : identities_.joined()) {
      if (joined.ignored.empty()) continue;
      std::size_t sides = 0;
      for (std::size_t i = 0; i < sets.size(); ++i) {
        if (sets[i] != nullptr && sides_[i].parameter_names.contains(kernel)) ++sides;
      }
      if (sides > 1) problem.joined.push_back(joined);
    }
  }

  std::vector<Side>& sides_;
  CommonIdentities identities_;
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
  Comparer comparer(by, sides, read);
  std::vector<std::vector<ComparableRows>> sets;
  sets.reserve(sides.size());
  CandidateList candidates(by, sides.size(), alias);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    sets.push_back(sides[i].rows.comparable());
    for (const ComparableRows& rows : sets.back()) candidates.add(i, rows);
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

std::vector<Slowdown> slowdowns(const Comparison& comparison, double above_percent) {
  std::vector<Slowdown> slower;
  for (std::size_t p = 0; p < comparison.problems.size(); ++p) {
    const std::vector<SideOfProblem>& sides = comparison.problems[p].sides;
    const auto has_kernels = [](const SideOfProblem& side) { return side.has_kernels; };
    const auto first =
        static_cast<std::size_t>(std::find_if(sides.begin(), sides.end(), has_kernels) - sides.begin());
    const auto best_on = [&](std::size_t side) -> const Standing& {
      return comparison.problems[p].best_of[side].on[side];
    };
    for (std::size_t later = first + 1; later < sides.size(); ++later) {
      if (!sides[later].has_kernels) continue;
      const double percent = 100 * (best_on(later).time_us / best_on(first).time_us - 1);
      if (percent > above_percent)
        slower.push_back({p, first, later, percent, best_on(later).low_us > best_on(first).high_us});
    }
  }
  return slower;
}

}  // namespace tiletune
