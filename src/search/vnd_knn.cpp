#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "search/strategies.h"
#include "search/walker.h"

namespace tiletune {

namespace search {
namespace {

/// The latest results of a walker, and what they let expect of others.
class NearestResults {
 public:
  explicit NearestResults(const ExploredSpace& explored) : explored_(explored) {}

  void add(const Tried& tried) {
    if (tried.cost != kDidNotRun) slowest_ = std::max(slowest_, tried.cost);
    Remembered remembered{explored_.space().positions(tried.index), tried.cost};
    if (results_.size() < kRemembered) {
      results_.push_back(std::move(remembered));
    } else {
      results_[oldest_] = std::move(remembered);
      oldest_ = (oldest_ + 1) % kRemembered;
    }
  }

  /// The mean cost of the nearest results, of which there must be one.
  double predicted(std::uint64_t index) {
    const std::vector<std::uint32_t> positions = explored_.space().positions(index);
    distances_.clear();
    for (const Remembered& one : results_)
      distances_.emplace_back(distance(positions, one.positions),
                              one.cost == kDidNotRun ? kPenalty * slowest_ : one.cost);
    const std::size_t count = std::min(kNearest, distances_.size());
    std::partial_sort(distances_.begin(), distances_.begin() + static_cast<std::ptrdiff_t>(count),
                      distances_.end());
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += distances_[i].second;
    return sum / static_cast<double>(count);
  }

 private:
  static constexpr std::size_t kNearest = 5;  ///< whose mean is the prediction
  static constexpr std::size_t kRemembered = 512;
  /// The cost of one that did not run, as a multiple of the slowest.
  static constexpr double kPenalty = 2;

  struct Remembered {
    std::vector<std::uint32_t> positions;
    double cost;
  };

  /// Parameters that differ count most; by how much decides between equals.
  double distance(const std::vector<std::uint32_t>& left, const std::vector<std::uint32_t>& right) const {
    double sum = 0;
    for (const std::size_t parameter : explored_.varied()) {
      if (left[parameter] == right[parameter]) continue;
      const double difference = std::abs(static_cast<double>(left[parameter]) - right[parameter]);
      sum += 1 + difference / explored_.values_of(parameter);
    }
    return sum;
  }

  const ExploredSpace& explored_;
  std::vector<Remembered> results_;
  std::size_t oldest_ = 0;
  double slowest_ = 1;
  std::vector<std::pair<double, double>> distances_;  ///< with costs
};

/// Variable neighbourhood descent (Mladenović and Hansen, 1997) that measures, of a few candidates, the one
/// that the k nearest results predict to be the fastest. The method is HybridVNDX of Kernel Tuner
/// (gen_hybrid_vndx; Willemsen, van Stein and van Werkhoven, "Automated Algorithm Design For Auto-Tuning
/// Optimizers"): neighbourhoods are drawn by weights that grow with moves that were accepted; crossed elite
/// configurations and random ones are candidates too; slower ones are accepted as in simulated annealing.
/// Its tabu list is here all that was tried.
class VndKnn : public Walker {
 public:
  explicit VndKnn(ExploredSpace& explored) : explored_(explored), results_(explored) {}

  std::optional<Proposal> next() override {
    if (current_.cost == kDidNotRun) {
      if (open_ > 0) return std::nullopt;
      ++open_;
      return Proposal{explored_.any(), kStart};
    }
    if (open_ == kMostOpen) return std::nullopt;
    const std::size_t neighbourhood = drawn_neighbourhood();
    ++open_;
    return Proposal{candidate(neighbourhood), neighbourhood};
  }

  void tell(const Proposal& proposal, double cost) override {
    --open_;
    const Tried tried{proposal.index, cost};
    results_.add(tried);
    add_to_elite(tried);
    if (proposal.purpose == kStart) {
      if (current_.cost == kDidNotRun) current_ = tried;
      return;
    }
    // A result of before a restart.
    if (current_.cost == kDidNotRun) return;
    const bool accepted = accepts(cost, current_.cost, temperature_, explored_.random());
    double& weight = weights_[proposal.purpose];
    weight = std::clamp(weight * (accepted ? 1.1 : 0.9), 0.1, 10.0);
    temperature_ *= kCooling;
    if (accepted) {
      current_ = tried;
      rejected_ = 0;
    } else if (++rejected_ == kRejectedBeforeRestart) {
      current_ = {};
      temperature_ = kFirstTemperature;
      rejected_ = 0;
    }
  }

 private:
  static constexpr std::size_t kCandidates = 8;  ///< predicted for each step
  static constexpr std::size_t kNeighbours = 4;  ///< candidates from the neighbourhood
  static constexpr std::size_t kElite = 5;       ///< the best, two of which are crossed
  /// A slowdown by 10% is accepted with probability 1 / e at first.
  static constexpr double kFirstTemperature = 0.1;
  static constexpr double kCooling = 0.99;
  static constexpr int kRejectedBeforeRestart = 100;
  static constexpr std::size_t kMostOpen = 4;
  /// Draws of a candidate that was tried already, until it was not.
  static constexpr int kMostDraws = 4;

  /// The next value of one parameter, any value of one, the next values of two.
  static constexpr std::size_t kNeighbourhoods = 3;
  static constexpr std::size_t kStart = kNeighbourhoods;

  std::size_t drawn_neighbourhood() {
    double drawn = explored_.random().unit() * (weights_[0] + weights_[1] + weights_[2]);
    std::size_t neighbourhood = 0;
    while (neighbourhood + 1 < kNeighbourhoods && drawn >= weights_[neighbourhood])
      drawn -= weights_[neighbourhood++];
    return neighbourhood;
  }

  std::optional<std::uint64_t> drawn_from(std::size_t neighbourhood) {
    if (neighbourhood == 1) return explored_.neighbour(current_.index);
    const auto one = explored_.adjacent(current_.index);
    return neighbourhood == 0 || !one ? one : explored_.adjacent(*one);
  }

  template <typename Draw>
  void add_candidate(const Draw& draw) {
    for (int i = 0; i < kMostDraws; ++i) {
      const std::optional<std::uint64_t> drawn = draw();
      if (!drawn || explored_.is_asked(*drawn)) continue;
      candidates_.push_back(*drawn);
      return;
    }
  }

  std::uint64_t candidate(std::size_t neighbourhood) {
    candidates_.clear();
    for (std::size_t i = 0; i < kNeighbours; ++i) add_candidate([&] { return drawn_from(neighbourhood); });
    if (elite_.size() >= 2) add_candidate([&] { return std::optional(crossed_elite()); });
    while (candidates_.size() < kCandidates) {
      const std::size_t before = candidates_.size();
      add_candidate([&] { return std::optional(explored_.any()); });
      if (candidates_.size() == before) break;
    }
    if (candidates_.empty()) return explored_.any();
    std::uint64_t best = candidates_.front();
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint64_t one : candidates_) {
      const double predicted = results_.predicted(one);
      if (predicted >= least) continue;
      least = predicted;
      best = one;
    }
    return best;
  }

  std::uint64_t crossed_elite() {
    const std::size_t first = explored_.random().below(elite_.size());
    const std::size_t step = 1 + explored_.random().below(elite_.size() - 1);
    const std::size_t second = (first + step) % elite_.size();
    return explored_.repaired(explored_.crossed(elite_[first].index, elite_[second].index));
  }

  void add_to_elite(const Tried& tried) {
    if (tried.cost == kDidNotRun) return;
    const auto place = std::upper_bound(elite_.begin(), elite_.end(), tried.cost,
                                        [](double left, const Tried& right) { return left < right.cost; });
    elite_.insert(place, tried);
    if (elite_.size() > kElite) elite_.pop_back();
  }

  ExploredSpace& explored_;
  NearestResults results_;
  Tried current_;
  std::vector<Tried> elite_;  ///< the best first
  std::array<double, kNeighbourhoods> weights_{1, 1, 1};
  double temperature_ = kFirstTemperature;
  int rejected_ = 0;  ///< in a row
  std::size_t open_ = 0;
  std::vector<std::uint64_t> candidates_;
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> make_vnd_knn(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  return search::make_walkers(spaces, seed, search::make_walker<search::VndKnn>);
}

}  // namespace tiletune
