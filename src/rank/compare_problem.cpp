#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "base/statistics.h"
#include "rank/compare.h"
#include "rank/ranking.h"

namespace tiletune {

namespace {

using Sets = std::vector<const ComparableRows*>;

/// A row with what orders it: rows of a side lie in one array, fastest first and failures last.
struct JoinedRow {
  Identity identity;
  std::size_t side;
  const RankingRow* row;

  auto operator<=>(const JoinedRow&) const = default;
};

/// The configurations of a problem, each with its row on every side. Of several rows of one side the fastest
/// counts.
class JoinedRows {
 public:
  explicit JoinedRows(const Sets& sides) : sides_(sides.size()) {
    std::vector<JoinedRow> all;
    for (std::size_t side = 0; side < sides.size(); ++side) {
      if (sides[side] == nullptr) continue;
      for (const auto& rows : {sides[side]->kernels, sides[side]->failed})
        for (const RankingRow& row : rows) all.push_back({row.identity, side, &row});
    }
    std::sort(all.begin(), all.end());
    for (const JoinedRow& one : all) {
      if (identities_.empty() || identities_.back() != one.identity) {
        identities_.push_back(one.identity);
        rows_.resize(rows_.size() + sides_, nullptr);
      }
      const RankingRow*& row = rows_[rows_.size() - sides_ + one.side];
      if (row == nullptr) row = one.row;
    }
  }

  std::size_t size() const { return identities_.size(); }

  /// The row of a configuration on a side, which may have failed; null where it has none.
  const RankingRow* row(std::size_t configuration, std::size_t side) const {
    return rows_[configuration * sides_ + side];
  }

  /// The place of a configuration that is there.
  std::size_t place_of(const Identity& identity) const {
    return static_cast<std::size_t>(std::lower_bound(identities_.begin(), identities_.end(), identity) -
                                    identities_.begin());
  }

 private:
  std::size_t sides_;
  std::vector<Identity> identities_;  ///< ascending
  std::vector<const RankingRow*> rows_;
};

/// What ran on a side.
struct Runners {
  std::vector<const RankingRow*> leaders;  ///< the best first
  std::set<std::int64_t> leading_ids;
  const RankingRow* fastest = nullptr;

  explicit Runners(const ComparableRows& rows) : leaders(leaders_of(rows)) {
    for (const RankingRow* leader : leaders) {
      leading_ids.insert(leader->id);
      if (fastest == nullptr || leader->time_us < fastest->time_us) fastest = leader;
    }
  }
};

class ProblemComparer {
 public:
  ProblemComparer(const Sets& sides, ComparedProblem& problem)
      : sides_(sides), joined_(sides), problem_(problem) {
    for (const ComparableRows* rows : sides_) {
      runners_.emplace_back();
      if (rows != nullptr && !rows->kernels.empty()) runners_.back().emplace(*rows);
    }
  }

  void fill() {
    problem_.best_of.resize(sides_.size());
    for (std::size_t side = 0; side < sides_.size(); ++side) fill(side);
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      for (std::size_t j = i + 1; j < sides_.size(); ++j)
        if (sides_[i] != nullptr && sides_[j] != nullptr) compare(i, j);
    }
    for (Portability& best : problem_.best_of)
      if (!best.on.empty()) add_figures(best);
    if (problem_.sides_with_kernels() >= 2) compromise();
  }

 private:
  void fill(std::size_t side) {
    if (sides_[side] == nullptr) return;
    SideOfProblem& facts = problem_.sides[side];
    for (const RankingRow& row : sides_[side]->failed) ++(row.is_undecided ? facts.undecided : facts.failed);
    if (!runners_[side]) return;
    facts.ran = sides_[side]->kernels.size();
    for (const RankingRow& row : sides_[side]->kernels) facts.screened += row.is_screened ? 1 : 0;
    facts.tied = runners_[side]->leaders.size() - 1;
    facts.fastest = standing(runners_[side]->fastest, side);
    problem_.best_of[side].on.resize(sides_.size());
    problem_.best_of[side].on[side] = standing(best(side), side);
  }

  const RankingRow* best(std::size_t side) const { return runners_[side]->leaders.front(); }

  Standing standing(const RankingRow* row, std::size_t side) const {
    Standing standing;
    if (row == nullptr || row->is_undecided) return standing;
    standing.id = row->id;
    standing.known = Known::failed;
    if (row->time_us == 0) return standing;
    standing.known = row->is_screened ? Known::screened : Known::timed;
    standing.time_us = row->time_us;
    standing.low_us = row->low_us;
    standing.high_us = row->high_us;
    standing.efficiency = efficiency(*row, side);
    standing.is_with_best = runners_[side]->leading_ids.contains(row->id);
    if (sides_[side]->what->source == Source::measured) standing.verified = !row->is_unverified;
    return standing;
  }

  /// What is faster than the best cannot be distinguished from it, or has a time of few samples.
  double efficiency(const RankingRow& row, std::size_t side) const {
    return std::min(1.0, best(side)->time_us / row.time_us);
  }

  /// What follows from two sides alone.
  void compare(std::size_t i, std::size_t j) {
    const auto transfer = [&](std::size_t from, std::size_t to) {
      if (!runners_[from]) return;
      const std::size_t configuration = joined_.place_of(best(from)->identity);
      problem_.best_of[from].on[to] = standing(joined_.row(configuration, to), to);
    };
    transfer(i, j);
    transfer(j, i);
    if (runners_[i] && runners_[j]) problem_.pairs.push_back(pair(i, j));
  }

  void add_figures(Portability& portability) const {
    std::vector<double> known;
    std::vector<double> ran;
    std::size_t unmeasured = 0;
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      const Standing& here = portability.on[side];
      if (sides_[side] == nullptr) continue;
      if (here.known == Known::unmeasured) {
        ++unmeasured;
        continue;
      }
      known.push_back(here.efficiency);
      if (here.known != Known::failed) ran.push_back(here.efficiency);
    }
    portability.harmonic_mean = pennycook(ran);
    if (!known.empty()) portability.minimum = *std::min_element(known.begin(), known.end());
    // Where it fails once, no time that is yet to be measured can help.
    if (unmeasured == 0 || portability.minimum == 0.0) portability.pennycook = pennycook(known);
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

  /// How well a configuration serves all sides.
  struct Service {
    double reciprocals = 0;  ///< sum over the sides' efficiencies
    double minimum = 1;      ///< least of the sides' efficiencies
    double times = 0;        ///< sum of the times by those of the best: tells apart what is tied with them
  };
  /// None where it did not run on all.
  std::optional<Service> service(std::size_t configuration) const {
    Service service;
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      if (sides_[side] == nullptr) continue;
      const RankingRow* row = joined_.row(configuration, side);
      if (row == nullptr || row->time_us == 0) return std::nullopt;
      service.reciprocals += 1 / efficiency(*row, side);
      service.minimum = std::min(service.minimum, efficiency(*row, side));
      service.times += row->time_us / best(side)->time_us;
    }
    return service;
  }

  Portability on_all(std::size_t configuration) const {
    Portability result;
    for (std::size_t side = 0; side < sides_.size(); ++side)
      result.on.push_back(standing(joined_.row(configuration, side), side));
    add_figures(result);
    return result;
  }

  /// Configurations have a fixed order, and of equal ones the first is taken.
  void compromise() {
    /// Loss, what decides between equal ones, and the configuration.
    using Choice = std::tuple<double, double, double, std::size_t>;
    std::optional<Choice> by_mean;
    std::optional<Choice> by_minimum;
    for (std::size_t c = 0; c < joined_.size(); ++c) {
      const auto found = service(c);
      if (!found) continue;
      ++problem_.common;
      const Choice mean(found->reciprocals, -found->minimum, found->times, c);
      const Choice minimum(-found->minimum, found->reciprocals, found->times, c);
      by_mean = std::min(by_mean.value_or(mean), mean);
      by_minimum = std::min(by_minimum.value_or(minimum), minimum);
    }
    if (!by_mean) return;
    problem_.compromise = on_all(std::get<3>(*by_mean));
    problem_.safest = on_all(std::get<3>(*by_minimum));
  }

  const Sets& sides_;
  JoinedRows joined_;
  ComparedProblem& problem_;
  std::vector<std::optional<Runners>> runners_;
};

/// Where the smallest values of a list end.
class Cut {
 public:
  Cut(std::span<const double> values, std::size_t top) {
    std::vector<double> sorted(values.begin(), values.end());
    top = std::min(top, sorted.size());
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(top) - 1;
    std::nth_element(sorted.begin(), last, sorted.end());
    last_ = *last;
    const auto below = std::count_if(values.begin(), values.end(), [&](double v) { return v < last_; });
    const auto equal = std::count(values.begin(), values.end(), last_);
    share_of_last_ = (static_cast<double>(top) - static_cast<double>(below)) / static_cast<double>(equal);
  }

  double share(double value) const { return value == last_ ? share_of_last_ : value < last_ ? 1 : 0; }

 private:
  double last_ = 0;
  double share_of_last_ = 0;
};

}  // namespace

void compare_rows(const Sets& sides, ComparedProblem& problem) { ProblemComparer(sides, problem).fill(); }

std::optional<double> pennycook(std::span<const double> efficiencies) {
  if (efficiencies.empty()) return std::nullopt;
  double reciprocals = 0;
  for (const double efficiency : efficiencies) {
    if (efficiency <= 0) return 0;
    reciprocals += 1 / efficiency;
  }
  return static_cast<double>(efficiencies.size()) / reciprocals;
}

std::size_t top_percent(std::size_t count) { return (count + 99) / 100; }

double shared_of_smallest(std::span<const double> a, std::span<const double> b, std::size_t top) {
  if (top == 0 || a.empty()) return 0;
  const Cut cut_a(a, top);
  const Cut cut_b(b, top);
  double shared = 0;
  for (std::size_t i = 0; i < a.size(); ++i) shared += cut_a.share(a[i]) * cut_b.share(b[i]);
  return shared;
}

}  // namespace tiletune
