#include "rank/portfolio_rows.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/text.h"

namespace tiletune {

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
  std::unordered_map<std::int64_t, OfRow> of;                            ///< by id
  std::map<std::pair<std::string, std::string>, Dimensions> dimensions;  ///< by operation and problem

  const Dimensions& dimensions_of(const ComparableRows& group) const {
    return *of.at(group.kernels.front().id).dimensions;
  }
};

RowFacts read_facts(const Database& database, const TrialFilter& filter) {
  RowFacts facts{RankingRows(SweepOrder(database)), {}, {}};
  std::vector<const char*> columns(ranking_columns().begin(), ranking_columns().end());
  columns.insert(columns.end(), {"kernel_expression", "compile_options", "dimensions"});
  database.for_each(filter, columns, [&](std::int64_t id, const Trial& trial) {
    if (trial.kind != "kernel") return;
    Dimensions& dimensions = facts.dimensions[{trial.operation, trial.problem}];
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
  GroupBuilder(PortfolioGroup& group, FailedKernels failed) : group_(group), failed_kernels_(failed) {}

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
    for (const RankingRow& row : rows.failed) add_failure(row, problem, facts);
  }

  void leave_out_failed() {
    if (failed_kernels_ == FailedKernels::kept) return;
    std::vector<PortfolioKernel>& kernels = group_.table.kernels;
    std::vector<bool> has_failed(kernels.size(), false);
    for (const auto& [key, place] : places_) has_failed[place] = failed_.contains(key);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (!has_failed[i]) std::swap(kernels[kept++], kernels[i]);
    }
    kernels.resize(kept);
  }

 private:
  using Key = std::pair<Identity, std::uint64_t>;

  std::size_t place_of(const RankingRow& row, const RowFacts& facts) {
    std::vector<PortfolioKernel>& kernels = group_.table.kernels;
    const auto [place, is_new] =
        places_.try_emplace({row.identity, facts.of.at(row.id).compiled}, kernels.size());
    if (is_new) {
      kernels.emplace_back().is_screened = true;
      kernels.back().identity = row.identity;
      least_.push_back(std::numeric_limits<double>::infinity());
    }
    return place->second;
  }

  void add_failure(const RankingRow& row, std::size_t problem, const RowFacts& facts) {
    if (failed_kernels_ == FailedKernels::left_out) {
      if (!row.is_undecided) failed_.insert({row.identity, facts.of.at(row.id).compiled});
      return;
    }
    PortfolioKernel& kernel = group_.table.kernels[place_of(row, facts)];
    kernel.failures.push_back({problem, row.id});
    if (kernel.row == 0) kernel.row = row.id;
  }

  PortfolioGroup& group_;
  FailedKernels failed_kernels_;
  std::map<Key, std::size_t> places_;  ///< in the table
  std::set<Key> failed_;
  std::vector<double> least_;  ///< regret of each kernel
};

}  // namespace

std::vector<PortfolioGroup> portfolio_groups(const Database& database, const TrialFilter& filter,
                                             FailedKernels failed) {
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
             group.what.conditions == rows.what->conditions && group.table.dimensions == names;
    });
    const auto number = static_cast<std::size_t>(place - groups.begin());
    if (place == groups.end()) {
      groups.push_back({*rows.what, {std::move(names), {}, {}}});
      members.emplace_back();
    }
    members[number].push_back(&rows);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    GroupBuilder builder(groups[i], failed);
    for (const ComparableRows* rows : members[i]) builder.add(*rows, facts.dimensions_of(*rows), facts);
    builder.leave_out_failed();
  }
  return groups;
}

}  // namespace tiletune
