#include "rank/portfolio.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/hash.h"
#include "base/statistics.h"
#include "base/text.h"

namespace tiletune {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Sums in another order differ by less.
constexpr double kEqual = 1e-9;

using Set = std::vector<std::size_t>;

/// Less than no kernel costs.
double cost_of(const PortfolioCell& cell) {
  constexpr double kSlowest = 0.9 * kUncoveredRegret;
  return std::min(cell.regret, kSlowest);
}

/// Adds and exchanges kernels. The cost of a set is the sum over the training problems of its smallest
/// regret.
class Chooser {
 public:
  Chooser(const PortfolioTable& table, const std::vector<bool>& training)
      : table_(table), training_(training), regrets_(table.problems.size(), 0) {}

  /// Null where none gains anything.
  std::optional<std::size_t> next(const Set& set) {
    cover(set);
    return best_addition(kEqual);
  }

  void exchange(Set& set) {
    constexpr int kMostRounds = 20;
    bool changed = set.size() > 1;
    for (int round = 0; changed && round < kMostRounds; ++round) {
      changed = false;
      for (std::size_t place = 0; place < set.size(); ++place) changed |= exchange_one(set, place);
    }
  }

 private:
  bool exchange_one(Set& set, std::size_t place) {
    Set others = set;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(place));
    cover(others);
    const double kept = gain_of(set[place]);
    const auto better = best_addition(kept + kEqual);
    if (!better) return false;
    set[place] = *better;
    return true;
  }

  /// The smallest regrets of a set; those of problems that do not count are 0, so that nothing lowers them.
  void cover(const Set& set) {
    for (std::size_t problem = 0; problem < regrets_.size(); ++problem)
      regrets_[problem] = training_[problem] ? kUncoveredRegret : 0;
    for (const std::size_t kernel : set) {
      for (const PortfolioCell& cell : table_.kernels[kernel].cells)
        regrets_[cell.problem] = std::min(regrets_[cell.problem], cost_of(cell));
    }
  }

  double gain_of(std::size_t kernel) const {
    double gain = 0;
    for (const PortfolioCell& cell : table_.kernels[kernel].cells)
      gain += std::max(0.0, regrets_[cell.problem] - cost_of(cell));
    return gain;
  }

  bool has_failed(const PortfolioKernel& kernel) const {
    return std::ranges::any_of(kernel.failed_on, [&](std::size_t problem) { return training_[problem]; });
  }

  /// The first of those that gain most, if more than `least`.
  std::optional<std::size_t> best_addition(double least) const {
    std::optional<std::size_t> best;
    for (std::size_t kernel = 0; kernel < table_.kernels.size(); ++kernel) {
      if (table_.kernels[kernel].is_screened || has_failed(table_.kernels[kernel])) continue;
      const double gain = gain_of(kernel);
      if (gain <= least) continue;
      best = kernel;
      least = gain + kEqual;
    }
    return best;
  }

  const PortfolioTable& table_;
  const std::vector<bool>& training_;
  std::vector<double> regrets_;
};

}  // namespace

std::vector<std::vector<std::size_t>> choose_kernels(const PortfolioTable& table, std::size_t most,
                                                     const std::vector<bool>& training) {
  Chooser chooser(table, training);
  std::vector<Set> sets;
  Set set;
  while (set.size() < most) {
    const auto next = chooser.next(set);
    if (!next) break;
    set.push_back(*next);
    chooser.exchange(set);
    sets.push_back(set);
  }
  return sets;
}

RegretMatrix regrets_of(const PortfolioTable& table, const std::vector<std::size_t>& kernels,
                        const KernelFacts& facts) {
  RegretMatrix regrets(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    regrets[i].assign(table.problems.size(), kInfinite);
    for (const PortfolioCell& cell : table.kernels[kernels[i]].cells) regrets[i][cell.problem] = cell.regret;
    for (std::size_t problem = 0; problem < table.problems.size(); ++problem) {
      if (std::isinf(regrets[i][problem]) && facts.may_run(kernels[i], problem))
        regrets[i][problem] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return regrets;
}

std::vector<TimeModel> time_models(const PortfolioTable& table, const std::vector<std::size_t>& kernels,
                                   const std::vector<bool>& training, const KernelFacts& facts) {
  std::vector<std::vector<TimeModel::Observation>> all;
  for (const std::size_t kernel : kernels) {
    std::vector<TimeModel::Observation>& observations = all.emplace_back();
    for (const PortfolioCell& cell : table.kernels[kernel].cells) {
      if (!training[cell.problem]) continue;
      const PortfolioProblem& problem = table.problems[cell.problem];
      observations.push_back(
          {problem.sizes, facts.waves(kernel, cell.problem), problem.best_us * (1 + cell.regret)});
    }
    const bool all_known =
        std::all_of(observations.begin(), observations.end(), [&](const TimeModel::Observation& one) {
          return one.waves.size() == observations.front().waves.size();
        });
    if (!all_known)
      for (TimeModel::Observation& observation : observations) observation.waves.clear();
  }
  return fit_time_models(all);
}

namespace {

Portfolio trained_on(const PortfolioTable& table, std::vector<bool> training, std::size_t most_kernels,
                     const KernelFacts& facts) {
  Portfolio portfolio;
  portfolio.training = std::move(training);
  portfolio.sets = choose_kernels(table, most_kernels, portfolio.training);
  if (!portfolio.sets.empty()) portfolio.kernels = portfolio.sets.back();
  portfolio.regrets = regrets_of(table, portfolio.kernels, facts);
  portfolio.models = time_models(table, portfolio.kernels, portfolio.training, facts);
  return portfolio;
}

/// The problems outside of its training.
std::vector<UntunedProblem> judged(const Portfolio& portfolio, const PortfolioTable& table,
                                   const KernelFacts& facts) {
  std::vector<UntunedProblem> untuned;
  for (std::size_t problem = 0; problem < table.problems.size(); ++problem) {
    if (portfolio.training[problem]) continue;
    FastestKernel fastest;
    for (std::size_t k = 0; k < portfolio.kernels.size(); ++k)
      if (!std::isinf(portfolio.regrets[k][problem]))
        fastest.consider(k, portfolio.models[k].time_us(table.problems[problem].sizes,
                                                        facts.waves(portfolio.kernels[k], problem)));
    const auto choice = fastest.kernel();
    double regret = kInfinite;
    // One that did not run where it was chosen is no unknown.
    if (choice && !std::ranges::count(table.kernels[portfolio.kernels[*choice]].failed_on, problem))
      regret = portfolio.regrets[*choice][problem];
    untuned.push_back({problem, choice, regret});
  }
  return untuned;
}

}  // namespace

Portfolio make_portfolio(const PortfolioTable& table, const PortfolioOptions& options,
                         const KernelFacts& facts) {
  std::vector<bool> training;
  for (const PortfolioProblem& problem : table.problems)
    training.push_back(!options.held_out.contains(problem.label));
  Portfolio portfolio = trained_on(table, std::move(training), options.most_kernels, facts);
  if (portfolio.kernels.empty()) return portfolio;
  portfolio.untuned = judged(portfolio, table, facts);
  return portfolio;
}

std::optional<std::size_t> Portfolio::best_on(std::size_t problem) const {
  std::optional<std::size_t> best;
  for (std::size_t kernel = 0; kernel < regrets.size(); ++kernel) {
    const double regret = regrets[kernel][problem];
    if (std::isfinite(regret) && (!best || regret < regrets[*best][problem])) best = kernel;
  }
  return best;
}

std::vector<double> best_regrets(const PortfolioTable& table, const std::vector<std::size_t>& kernels) {
  std::vector<double> regrets(table.problems.size(), kInfinite);
  for (const std::size_t kernel : kernels) {
    for (const PortfolioCell& cell : table.kernels[kernel].cells)
      regrets[cell.problem] = std::min(regrets[cell.problem], cell.regret);
  }
  return regrets;
}

RegretSummary summarise_regrets(const std::vector<double>& regrets) {
  RegretSummary summary;
  std::vector<double> sorted;
  for (const double regret : regrets) {
    if (std::isnan(regret))
      ++summary.unmeasured;
    else
      sorted.push_back(regret);
  }
  summary.problems = sorted.size();
  if (sorted.empty()) return summary;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t count = sorted.size();
  summary.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(count);
  summary.median = median(sorted);
  summary.percentile_90 = sorted[(9 * count + 9) / 10 - 1];
  summary.maximum = sorted.back();
  return summary;
}

namespace {

using Json = nlohmann::ordered_json;
using Dimensions = std::vector<std::pair<std::string, std::int64_t>>;

/// As many as the label lists; leading dimensions stand behind them. None where the two do not agree.
Dimensions dimensions_of(const Trial& trial) {
  const Json json = Json::parse(trial.dimensions, nullptr, false);
  const std::size_t count = split(trial.problem.substr(0, trial.problem.find(' ')), 'x').size();
  Dimensions dimensions;
  if (!json.is_object() || json.size() < count) return dimensions;
  for (const auto& [name, size] : json.items()) {
    if (dimensions.size() == count) break;
    if (!size.is_number_integer() || size.get<std::int64_t>() < 1) return {};
    dimensions.emplace_back(name, size.get<std::int64_t>());
  }
  return dimensions;
}

/// What the rows of a ranking say beside their times.
struct RowFacts {
  struct OfRow {
    std::uint64_t compiled = 0;         ///< hash of the expression and the options
    const Dimensions* dimensions = {};  ///< below
  };
  RankingRows rows;
  std::unordered_map<std::int64_t, OfRow> of;                   ///< by id
  std::map<std::array<std::string, 3>, Dimensions> dimensions;  ///< by operation, its definition and problem

  const Dimensions& dimensions_of(const ComparableRows& group) const {
    return *of.at(group.kernels.front().id).dimensions;
  }
};

RowFacts read_facts(const Database& database, const TrialFilter& filter) {
  RowFacts facts{RankingRows(SweepOrder(database)), {}, {}};
  std::vector<const char*> columns(ranking_columns().begin(), ranking_columns().end());
  columns.insert(columns.end(), {"operation_hash", "kernel_expression", "compile_options", "dimensions"});
  database.for_each(filter, columns, [&](std::int64_t id, const Trial& trial) {
    if (trial.kind != "kernel") return;
    Dimensions& dimensions = facts.dimensions[{trial.operation, trial.operation_hash, trial.problem}];
    if (dimensions.empty()) dimensions = dimensions_of(trial);
    facts.of.emplace(
        id, RowFacts::OfRow{checksum64(trial.kernel_expression + '\n' + trial.compile_options), &dimensions});
    if (trial.outcome != Outcome::screened_out || !trial.median_us) return facts.rows.add(id, trial);
    Trial screened = trial;
    facts.rows.add_screened(id, screened);
  });
  return facts;
}

class GroupBuilder {
 public:
  explicit GroupBuilder(PortfolioGroup& group) : group_(group) {}

  void add(const ComparableRows& rows, const Dimensions& dimensions, const RowFacts& facts) {
    PortfolioTable& table = group_.table;
    const std::size_t problem = table.problems.size();
    table.problems.push_back({rows.what->problem, {}, rows.kernels.front().time_us});
    for (const auto& [name, size] : dimensions) table.problems.back().sizes.push_back(size);
    for (const RankingRow& row : rows.kernels) {
      const double regret = row.time_us / rows.kernels.front().time_us - 1;
      const std::size_t place = place_of(row, facts);
      PortfolioKernel& kernel = table.kernels[place];
      kernel.cells.push_back({problem, regret});
      // A row that was timed to its end stands for the kernel, where there is one.
      if (std::pair(row.is_screened, regret) >= std::pair(kernel.is_screened, least_[place])) continue;
      least_[place] = regret;
      kernel.row = row.id;
      kernel.is_screened = row.is_screened;
    }
    for (const RankingRow& row : rows.failed)
      if (!row.is_undecided) failures_.emplace_back(key_of(row, facts), problem);
  }

  /// Behind all problems: a kernel that ran on none is left out.
  void add_failures() {
    for (const auto& [key, problem] : failures_)
      if (const auto place = places_.find(key); place != places_.end())
        group_.table.kernels[place->second].failed_on.push_back(problem);
  }

 private:
  using Key = std::pair<Identity, std::uint64_t>;

  static Key key_of(const RankingRow& row, const RowFacts& facts) {
    return {row.identity, facts.of.at(row.id).compiled};
  }

  std::size_t place_of(const RankingRow& row, const RowFacts& facts) {
    std::vector<PortfolioKernel>& kernels = group_.table.kernels;
    const auto [place, is_new] = places_.try_emplace(key_of(row, facts), kernels.size());
    if (is_new) {
      kernels.emplace_back().is_screened = true;
      least_.push_back(std::numeric_limits<double>::infinity());
    }
    return place->second;
  }

  PortfolioGroup& group_;
  std::map<Key, std::size_t> places_;                  ///< in the table
  std::vector<std::pair<Key, std::size_t>> failures_;  ///< with their problems
  std::vector<double> least_;                          ///< regret of each kernel
};

}  // namespace

std::vector<PortfolioGroup> portfolio_groups(const Database& database, const TrialFilter& filter) {
  RowFacts facts = read_facts(database, filter);
  std::vector<PortfolioGroup> groups;
  std::vector<std::vector<const ComparableRows*>> members;
  const std::vector<ComparableRows> all = facts.rows.comparable();
  for (const ComparableRows& rows : all) {
    const Dimensions& dimensions = facts.dimensions_of(rows);
    if (dimensions.empty()) continue;
    std::vector<std::string> names;
    for (const auto& [name, size] : dimensions) names.push_back(name);
    const auto place = std::find_if(groups.begin(), groups.end(), [&](const PortfolioGroup& group) {
      return group.what.gpu == rows.what->gpu && group.what.source == rows.what->source &&
             group.what.unmarked().conditions == rows.what->unmarked().conditions &&
             group.what.definition == rows.what->definition && group.table.dimensions == names;
    });
    const auto number = static_cast<std::size_t>(place - groups.begin());
    if (place == groups.end()) {
      groups.push_back({*rows.what, {std::move(names), {}, {}}});
      members.emplace_back();
    }
    members[number].push_back(&rows);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    GroupBuilder builder(groups[i]);
    for (const ComparableRows* rows : members[i]) builder.add(*rows, facts.dimensions_of(*rows), facts);
    builder.add_failures();
  }
  return groups;
}

}  // namespace tiletune
