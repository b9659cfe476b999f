#include "rank/compare_problem.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "rank/portability.h"
#include "rank/ranking.h"

namespace tiletune {

namespace {

using IsScreened = std::function<bool(std::size_t side, std::int64_t id)>;

class ProblemComparer {
 public:
  ProblemComparer(const std::vector<const ComparableRows*>& sides,
                  const std::function<Identity(const RankingRow&)>& identity, const IsScreened& is_screened)
      : sides_(sides), identity_(identity), is_screened_(is_screened), joined_(sides, identity) {
    for (const ComparableRows* rows : sides_) {
      leaders_.push_back(rows == nullptr ? std::vector<const RankingRow*>() : leaders_of(*rows));
      leading_ids_.emplace_back();
      for (const RankingRow* leader : leaders_.back()) leading_ids_.back().insert(leader->id);
    }
  }

  void fill(ComparedProblem& problem) const {
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      problem.best_of.emplace_back();
      if (sides_[side] == nullptr) continue;
      fill(side, problem.sides[side]);
      problem.best_of.back() = portability(joined_.place_of(identity_(*leaders_[side].front())), side);
    }
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      for (std::size_t j = i + 1; j < sides_.size(); ++j) {
        if (sides_[i] != nullptr && sides_[j] != nullptr) problem.pairs.push_back(pair(i, j));
      }
    }
    if (problem.sides_with_kernels() > 1) compromise(problem);
  }

 private:
  static constexpr std::size_t kNoSide = static_cast<std::size_t>(-1);

  void fill(std::size_t side, SideOfProblem& facts) const {
    facts.has_kernels = true;
    facts.ran = sides_[side]->kernels.size();
    facts.failed = sides_[side]->failed.size();
    facts.tied = leaders_[side].size() - 1;
    for (const RankingRow& row : sides_[side]->kernels) facts.screened += is_screened_(side, row.id) ? 1 : 0;
  }

  double fastest_us(std::size_t side) const { return sides_[side]->kernels.front().time_us; }

  Standing standing(const RankingRow* row, std::size_t side) const {
    Standing standing;
    if (row == nullptr) return standing;
    standing.id = row->id;
    standing.known = Known::failed;
    if (row->time_us == 0) return standing;
    standing.known = is_screened_(side, row->id) ? Known::screened : Known::timed;
    standing.time_us = row->time_us;
    standing.low_us = row->low_us;
    standing.high_us = row->high_us;
    standing.efficiency = fastest_us(side) / row->time_us;
    standing.is_with_best = leading_ids_[side].contains(row->id);
    return standing;
  }

  /// Of a side's best, that side has the row of the best: of rows that are joined another may be faster.
  Portability portability(std::size_t configuration, std::size_t best_of = kNoSide) const {
    Portability result;
    std::vector<double> known;
    std::vector<double> ran;
    std::size_t unmeasured = 0;
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      const RankingRow* row = side == best_of ? leaders_[side].front() : joined_.row(configuration, side);
      result.on.push_back(standing(row, side));
      const Standing& here = result.on.back();
      if (sides_[side] == nullptr) continue;
      if (here.known == Known::unmeasured) {
        ++unmeasured;
        continue;
      }
      known.push_back(here.efficiency);
      if (here.known != Known::failed) ran.push_back(here.efficiency);
    }
    result.harmonic_mean = pennycook(ran);
    if (!known.empty()) result.minimum = *std::min_element(known.begin(), known.end());
    // Where it fails once, no time that is yet to be measured can help.
    if (unmeasured == 0 || result.minimum == 0.0) result.pennycook = pennycook(known);
    return result;
  }

  PairOfSides pair(std::size_t i, std::size_t j) const {
    PairOfSides pair{i, j, 0, {}, 0, 0};
    std::vector<double> first;
    std::vector<double> second;
    for (std::size_t c = 0; c < joined_.size(); ++c) {
      const RankingRow* a = joined_.row(c, i);
      const RankingRow* b = joined_.row(c, j);
      if (a == nullptr || b == nullptr || a->time_us == 0 || b->time_us == 0) continue;
      first.push_back(a->time_us);
      second.push_back(b->time_us);
    }
    pair.common = first.size();
    pair.spearman = spearman(first, second);
    pair.top = top_percent(first.size());
    pair.top_shared = shared_of_smallest(first, second, pair.top);
    return pair;
  }

  /// The reciprocals' sum and the smallest efficiency over the sides; none where it did not run on all.
  std::optional<std::pair<double, double>> efficiency_on_all(std::size_t configuration) const {
    double reciprocals = 0;
    double minimum = 1;
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      if (sides_[side] == nullptr) continue;
      const RankingRow* row = joined_.row(configuration, side);
      if (row == nullptr || row->time_us == 0) return std::nullopt;
      reciprocals += row->time_us / fastest_us(side);
      minimum = std::min(minimum, fastest_us(side) / row->time_us);
    }
    return std::pair(reciprocals, minimum);
  }

  /// Configurations have a fixed order, and of equal ones the first is taken.
  void compromise(ComparedProblem& problem) const {
    std::optional<std::tuple<double, double>> least_sum;
    std::optional<std::tuple<double, double>> least_loss;
    std::size_t best_mean = 0;
    std::size_t best_minimum = 0;
    for (std::size_t c = 0; c < joined_.size(); ++c) {
      const auto found = efficiency_on_all(c);
      if (!found) continue;
      ++problem.common;
      const auto [sum, minimum] = *found;
      if (!least_sum || std::tuple(sum, -minimum) < *least_sum) {
        least_sum = {sum, -minimum};
        best_mean = c;
      }
      if (!least_loss || std::tuple(-minimum, sum) < *least_loss) {
        least_loss = {-minimum, sum};
        best_minimum = c;
      }
    }
    if (!least_sum) return;
    problem.compromise = portability(best_mean);
    problem.safest = portability(best_minimum);
  }

  const std::vector<const ComparableRows*>& sides_;
  const std::function<Identity(const RankingRow&)>& identity_;
  const IsScreened& is_screened_;
  JoinedRows joined_;
  std::vector<std::vector<const RankingRow*>> leaders_;
  std::vector<std::set<std::int64_t>> leading_ids_;
};

}  // namespace

void compare_rows(const std::vector<const ComparableRows*>& sides,
                  const std::function<Identity(const RankingRow&)>& identity, const IsScreened& is_screened,
                  ComparedProblem& problem) {
  ProblemComparer(sides, identity, is_screened).fill(problem);
}

}  // namespace tiletune
