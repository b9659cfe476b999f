#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "search/explored_space.h"
#include "search/gaussian_process.h"
#include "search/strategies.h"

namespace tiletune {

namespace {

using search::ExploredSpace;

/// Configurations drawn at random before anything is predicted.
constexpr std::size_t kFirst = 12;
/// Untried configurations whose times are predicted before the most promising are chosen.
constexpr std::size_t kMostCandidates = 1000;
/// Candidates that are changes of changes of the best.
constexpr std::size_t kSecondNeighbours = 500;
/// The best configurations, whose changes are candidates.
constexpr std::size_t kBest = 8;
/// The most observations that predictions follow from: the fastest, and some others.
constexpr std::size_t kMostObservations = 500;
/// A configuration's lower confidence bound lies so many standard deviations below its predicted time.
constexpr double kBoundDeviations = 2;
/// How often a choice is one change away from the best, whatever the bounds of others.
constexpr double kNearBest = 0.25;

/// No gain is expected once so many configurations were tried and none ran.
constexpr std::size_t kMostFailures = 500;

/// What a configuration was predicted to take, as a logarithm, when it was chosen.
struct Prediction {
  double mean = 0;
  double deviation = 0;
};

/// Bayesian optimisation: a Gaussian process over the logarithms of times predicts what untried
/// configurations take, and how certain that is; those are chosen that may be the fastest (a lower confidence
/// bound; batches as Desautels, Krause and Burdick do, Parallelizing Exploration-Exploitation Tradeoffs,
/// 2014).
class Surrogate : public Strategy {
 public:
  Surrogate(const std::vector<SearchedSpace>& spaces, std::uint64_t seed)
      : random_(seed), coordinates_(spaces), process_(coordinates_.log_scales()) {
    for (std::size_t i = 0; i < spaces.size(); ++i) explored_.emplace_back(spaces[i], seed + i);
  }

  std::vector<Choice> ask(std::size_t most) override {
    std::vector<Choice> choices;
    most_asked_ = std::max(most_asked_, most);
    while (choices.size() < most) {
      if (chosen_.empty()) choose(most - choices.size());
      if (chosen_.empty()) break;
      choices.push_back(chosen_.front());
      chosen_.pop_front();
    }
    return choices;
  }

  std::vector<Choice> ask_among(const std::vector<Choice>& some, std::size_t most) override {
    std::vector<Choice> untried;
    std::copy_if(some.begin(), some.end(), std::back_inserter(untried),
                 [this](const Choice& choice) { return can_try(choice); });
    if (untried.empty() || (successes_ == 0 && lessons_.empty())) return {};
    return choose_among(untried, most, 0);
  }

  void tell(const Choice& choice, std::optional<double> median_us) override {
    bool is_first = false;
    constexpr double kLeastUs = 1e-6;  // its logarithm is finite
    double cost = search::kDidNotRun;
    if (median_us && *median_us >= 0) cost = std::max(kLeastUs, *median_us);
    if (!explored_[choice.space].tell(choice.index, cost, is_first)) return;
    if (is_first) {
      observed_.emplace_back(choice, cost);
      judge_prediction(choice, cost);
    } else {
      for (auto& [earlier, time] : observed_)
        if (earlier == choice) time = cost;
      observed_by_process_ = 0;
    }
    successes_ = static_cast<std::size_t>(std::count_if(
        observed_.begin(), observed_.end(), [](const auto& one) { return one.second < search::kDidNotRun; }));
    if (cost >= best_us_) return;
    best_us_ = cost;
    best_ = choice;
    best_since_ = observed_.size();
  }

  std::size_t most_lessons() const override { return search::kMostLessons; }

  void learn(const std::vector<Lesson>& lessons) override {
    lessons_ = lessons;
    search::keep_lessons(lessons_, search::kMostLessons, random_);
    winners_ = winners();
  }

  /// As much as the most promising candidate may be faster, three standard deviations below its predicted
  /// time, times the errors of earlier predictions. A tenth of that bound was the right one for 1% in 95 of
  /// 100 replays of recorded spaces. It says nothing before 60 results, and while the best was found lately.
  std::optional<double> remaining_gain_percent() override {
    if (observed_.size() == total() || (successes_ == 0 && observed_.size() >= kMostFailures)) return 0;
    constexpr std::size_t kLeast = 60;
    constexpr double kPercentPerLog = 10;
    const std::size_t since = observed_.size() - best_since_;
    if (!predicted_gain_ || observed_.size() < kLeast || since < std::max(kLeast, observed_.size() / 2))
      return std::nullopt;
    return kPercentPerLog * *predicted_gain_ * error_scale();
  }

 private:
  std::uint64_t left() const {
    return std::accumulate(explored_.begin(), explored_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const ExploredSpace& one) { return sum + one.left(); });
  }

  bool can_try(const Choice& choice) const {
    const ExploredSpace& space = explored_[choice.space];
    return space.left() > 0 && !space.is_asked(choice.index);
  }

  void take(const Choice& choice, const Prediction& prediction) {
    explored_[choice.space].ask(choice.index);
    open_.emplace(choice, prediction);
  }

  void take_next(const Choice& choice, const Prediction& prediction) {
    take(choice, prediction);
    chosen_.push_back(choice);
  }

  /// Chooses what is asked for next. The more results there are, the more may be chosen at once.
  void choose(std::size_t wanted) {
    const std::size_t most_open = std::max({std::size_t{16}, most_asked_, observed_.size() / 2});
    if (open_.size() >= most_open) return;
    const std::size_t at_once = std::max(wanted, observed_.size() / 10);
    const std::size_t count = std::min<std::uint64_t>(std::min(at_once, most_open - open_.size()), left());
    if (count == 0) return;
    const std::size_t asked = observed_.size() + open_.size();
    const bool is_blind = successes_ == 0 || asked < kFirst;
    const std::size_t winners = choose_winners(count);
    if (winners == count) return;
    if (is_blind && (lessons_.empty() || observed_.size() >= kFirst)) {
      const std::size_t first = successes_ > 0 ? std::min(count, kFirst - asked) : count - winners;
      for (std::size_t i = 0; i < first; ++i)
        take_next(any_untried(), {0, std::numeric_limits<double>::infinity()});
      return;
    }
    const std::vector<Choice> chosen =
        choose_among(candidates(), count - winners, std::numeric_limits<double>::infinity());
    chosen_.insert(chosen_.end(), chosen.begin(), chosen.end());
  }

  /// What was best on the nearest problems, which may be this one on another day or GPU, is chosen first.
  /// Says how many were.
  std::size_t choose_winners(std::size_t most) {
    std::size_t chosen = 0;
    for (; chosen < most && !winners_.empty(); winners_.pop_front()) {
      if (!can_try(winners_.front())) continue;
      take_next(winners_.front(), {0, std::numeric_limits<double>::infinity()});
      ++chosen;
    }
    return chosen;
  }

  /// The fastest configurations of the nearest lessons, the nearest first.
  std::deque<Choice> winners() const {
    constexpr std::size_t kMost = 3;
    std::vector<const Lesson*> best;
    for (const Lesson& lesson : lessons_)
      if (lesson.relative_time <= 1) best.push_back(&lesson);
    std::stable_sort(best.begin(), best.end(),
                     [](const Lesson* a, const Lesson* b) { return a->distance < b->distance; });
    std::deque<Choice> winners;
    for (const Lesson* lesson : best) {
      const auto choice = choice_of(*lesson);
      if (choice && winners.size() < kMost) winners.push_back(*choice);
    }
    return winners;
  }

  /// An untried configuration of any space, each as likely as the others.
  Choice any_untried() {
    std::uint64_t drawn = random_.below(left());
    for (std::size_t i = 0;; ++i) {
      if (drawn < explored_[i].left()) return {i, explored_[i].untried()};
      drawn -= explored_[i].left();
    }
  }

  /// The logarithm of each time's ratio to the best of this problem; for what did not run, the median of what
  /// did.
  std::vector<double> logarithms(const std::vector<std::pair<Choice, double>>& observed) const {
    std::vector<double> known;
    for (const auto& [choice, cost] : observed_)
      if (cost < search::kDidNotRun) known.push_back(std::log(cost / best_us_));
    if (known.empty())
      for (const Lesson& lesson : lessons_) known.push_back(std::log(lesson.relative_time));
    if (known.empty()) known.push_back(0);
    const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
    std::nth_element(known.begin(), middle, known.end());
    const double median = *middle;
    std::vector<double> values;
    for (const auto& [choice, cost] : observed)
      values.push_back(cost < search::kDidNotRun ? std::log(cost / best_us_) : median);
    return values;
  }

  Eigen::MatrixXf points_of(const std::vector<Choice>& choices) const {
    Eigen::MatrixXf points(static_cast<Eigen::Index>(choices.size()),
                           static_cast<Eigen::Index>(coordinates_.count()));
    for (std::size_t i = 0; i < choices.size(); ++i)
      points.row(static_cast<Eigen::Index>(i)) = coordinates_.point(choices[i]);
    return points;
  }

  /// The observations that predictions follow from: of many, the fastest and as many of the others.
  std::vector<std::pair<Choice, double>> observations() {
    std::vector<std::pair<Choice, double>> kept = observed_;
    const std::size_t most = kMostObservations - lessons_.size();
    if (kept.size() <= most) return kept;
    const auto faster = [](const auto& a, const auto& b) { return a.second < b.second; };
    std::nth_element(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(most / 2), kept.end(), faster);
    random_.keep_some(kept, most / 2, most);
    return kept;
  }

  void observe() {
    const std::size_t known = observed_.size();
    if (is_observed_ && known == observed_by_process_) return;
    const bool adjusts = !is_observed_ || known - adjusted_at_ >= std::max<std::size_t>(1, known / 20);
    if (adjusts) adjusted_at_ = known;
    is_observed_ = true;
    observed_by_process_ = known;
    const auto kept = observations();
    std::vector<Choice> choices;
    for (const auto& [choice, cost] : kept) choices.push_back(choice);
    const std::vector<double> own = logarithms(kept);
    const auto count = static_cast<Eigen::Index>(own.size());
    Eigen::MatrixXf points(static_cast<Eigen::Index>(lessons_.size()) + count,
                           static_cast<Eigen::Index>(coordinates_.count()));
    Eigen::VectorXd values(points.rows());
    coordinates_.put(lessons_, points, values);
    points.bottomRows(count) = points_of(choices);
    values.tail(count) = Eigen::Map<const Eigen::VectorXd>(own.data(), count);
    process_.observe(points, values, adjusts, random_);
  }

  std::vector<Choice> neighbours_of(const Choice& choice) {
    constexpr std::size_t kMost = 300;
    std::vector<Choice> found;
    search::Neighbours neighbours(explored_[choice.space], choice.index);
    for (auto index = neighbours.next(); index && found.size() < kMost; index = neighbours.next())
      found.push_back({choice.space, *index});
    return found;
  }

  /// Everything, where that is not too much; else changes of the best, changes of those, and others at
  /// random.
  std::vector<Choice> candidates() {
    std::set<Choice> pool;
    const auto add = [&](const Choice& choice) {
      if (can_try(choice)) pool.insert(choice);
    };
    if (total() - observed_.size() - open_.size() <= kMostCandidates && total() <= 100 * kMostCandidates) {
      for (std::size_t i = 0; i < explored_.size(); ++i)
        for (std::uint64_t index = 0; index < explored_[i].size(); ++index) add({i, index});
      return some_of(pool);
    }
    std::vector<Choice> near;
    for (const Lesson& lesson : lessons_)
      if (const auto choice = choice_of(lesson)) near.push_back(*choice);
    for (const Choice& best : fastest()) {
      const std::vector<Choice> found = neighbours_of(best);
      near.insert(near.end(), found.begin(), found.end());
    }
    std::for_each(near.begin(), near.end(), add);
    const std::size_t enough = pool.size() + kSecondNeighbours;
    for (std::size_t i = 0; i < 4 * kSecondNeighbours && pool.size() < enough && !near.empty(); ++i) {
      const Choice& one = near[random_.below(near.size())];
      if (const auto index = explored_[one.space].neighbour(one.index)) add({one.space, *index});
    }
    const std::uint64_t everything = total();
    for (std::size_t i = 0; i < 3 * kMostCandidates && pool.size() < kMostCandidates; ++i)
      add(at(random_.below(everything)));
    if (pool.empty()) pool.insert(any_untried());
    return some_of(pool);
  }

  /// Where it is valid for this problem.
  std::optional<Choice> choice_of(const Lesson& lesson) const {
    return search::choice_of(lesson, explored_[lesson.space].space());
  }

  std::uint64_t total() const {
    return std::accumulate(explored_.begin(), explored_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const ExploredSpace& one) { return sum + one.size(); });
  }

  Choice at(std::uint64_t index) const {
    std::size_t space = 0;
    for (; index >= explored_[space].size(); ++space) index -= explored_[space].size();
    return {space, index};
  }

  /// Spaces with many parameters have more changes of the best than can be predicted in time.
  std::vector<Choice> some_of(const std::set<Choice>& pool) {
    constexpr std::size_t kMost = 3 * kMostCandidates / 2;
    std::vector<Choice> all(pool.begin(), pool.end());
    if (all.size() <= kMost) return all;
    random_.keep_some(all, 0, kMost);
    return all;
  }

  std::vector<Choice> fastest() const {
    std::vector<std::pair<double, Choice>> order;
    for (const auto& [choice, cost] : observed_)
      if (cost < search::kDidNotRun) order.emplace_back(cost, choice);
    const std::size_t count = std::min(kBest, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
    std::vector<Choice> fastest;
    for (std::size_t i = 0; i < count; ++i) fastest.push_back(order[i].second);
    return fastest;
  }

  /// The most promising of these whose time may be below `limit`, the logarithm of a ratio to the best time.
  std::vector<Choice> choose_among(const std::vector<Choice>& fresh, std::size_t count, double limit) {
    observe();
    // Configurations that are under way come first: their predictions are taken for results.
    std::vector<Choice> pool;
    for (const auto& [choice, prediction] : open_) pool.push_back(choice);
    const std::size_t open = pool.size();
    pool.insert(pool.end(), fresh.begin(), fresh.end());
    process_.predict(points_of(pool), open + count);
    for (std::size_t i = 0; i < open; ++i) process_.believe(i);
    if (std::isinf(limit)) note_gain(open, pool.size());
    std::vector<bool> taken(pool.size());
    std::vector<Choice> chosen;
    while (chosen.size() < count) {
      const auto promising = most_promising(pool, open, taken, limit);
      if (!promising) break;
      taken[*promising] = true;
      take(pool[*promising], prediction_of(*promising));
      process_.believe(*promising);
      chosen.push_back(pool[*promising]);
    }
    return chosen;
  }

  /// Without a result of this problem only the order of times is predicted.
  Prediction prediction_of(std::size_t candidate) const {
    if (successes_ == 0) return {0, std::numeric_limits<double>::infinity()};
    return {std::log(best_us_) + process_.mean(candidate), process_.deviation(candidate)};
  }

  /// Whether a choice differs from the best in one parameter.
  bool is_beside_best(const Choice& choice) const {
    if (successes_ == 0 || choice.space != best_.space) return false;
    const Space& space = explored_[choice.space].space();
    const std::vector<std::uint32_t> own = space.positions(choice.index), best = space.positions(best_.index);
    std::size_t differing = 0;
    for (std::size_t i = 0; i < own.size(); ++i) differing += own[i] != best[i] ? 1 : 0;
    return differing == 1;
  }

  std::optional<std::size_t> most_promising(const std::vector<Choice>& pool, std::size_t open,
                                            const std::vector<bool>& taken, double limit) {
    const auto is_free = [&](std::size_t i) { return !taken[i] && explored_[pool[i].space].left() > 0; };
    const auto best_of = [&](const auto& is_wanted) {
      std::optional<std::size_t> best;
      double least = limit;
      for (std::size_t i = open; i < pool.size(); ++i) {
        if (!is_free(i) || !is_wanted(i)) continue;
        const double bound = process_.mean(i) - kBoundDeviations * process_.deviation(i);
        if (bound < least) {
          least = bound;
          best = i;
        }
      }
      return best;
    };
    if (random_.chance(kNearBest)) {
      if (const auto near = best_of([&](std::size_t i) { return is_beside_best(pool[i]); })) return near;
    }
    return best_of([](std::size_t /*i*/) { return true; });
  }

  /// How much faster than the best the most promising candidate may be, as a logarithm.
  void note_gain(std::size_t open, std::size_t end) {
    constexpr double kDeviations = 3;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = open; i < end; ++i)
      least = std::min(least, process_.mean(i) - kDeviations * process_.deviation(i));
    if (successes_ > 0 && open < end) predicted_gain_ = std::max(0.0, -least);
  }

  void judge_prediction(const Choice& choice, double cost) {
    constexpr std::size_t kMostErrors = 40;
    constexpr double kLeastDeviation = 0.01;
    const auto found = open_.find(choice);
    if (found == open_.end()) return;
    const Prediction prediction = found->second;
    open_.erase(found);
    if (cost == search::kDidNotRun || std::isinf(prediction.deviation)) return;
    errors_.push_back((std::log(cost) - prediction.mean) / std::max(kLeastDeviation, prediction.deviation));
    if (errors_.size() > kMostErrors) errors_.pop_front();
  }

  /// How many standard deviations the last predictions were wrong by, at least 1.
  double error_scale() const {
    constexpr std::size_t kEnough = 10;
    if (errors_.size() < kEnough) return 1;
    const double squares = std::inner_product(errors_.begin(), errors_.end(), errors_.begin(), 0.0);
    return std::max(1.0, std::sqrt(squares / static_cast<double>(errors_.size())));
  }

  search::RandomSource random_;
  std::vector<ExploredSpace> explored_;
  search::Coordinates coordinates_;
  search::GaussianProcess process_;
  std::vector<std::pair<Choice, double>> observed_;
  std::map<Choice, Prediction> open_;  ///< chosen, and what became of them is not known
  std::deque<Choice> chosen_;          ///< the open ones that were not yet asked for
  std::deque<double> errors_;          ///< of predictions, in their standard deviations
  std::size_t successes_ = 0;
  std::size_t most_asked_ = 0;   ///< at a time
  std::size_t adjusted_at_ = 0;  ///< results when length scales were adjusted
  std::size_t observed_by_process_ = 0;
  bool is_observed_ = false;  ///< by the process
  std::vector<Lesson> lessons_;
  std::deque<Choice> winners_;  ///< lessons' winners that are still to be chosen
  double best_us_ = search::kDidNotRun;
  Choice best_;
  std::size_t best_since_ = 0;  ///< results when it was found
  std::optional<double> predicted_gain_;
};

}  // namespace

std::unique_ptr<Strategy> make_surrogate(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  return std::make_unique<Surrogate>(spaces, seed);
}

}  // namespace tiletune
