#include <algorithm>
#include <cmath>
#include <utility>

#include "search/strategies.h"
#include "search/walker.h"

namespace tiletune {

namespace search {
namespace {

/// Simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983) with geometric cooling. A cooling begins
/// anywhere; one that found better than those before is followed by one from what it found.
class SimulatedAnnealing : public Walker {
 public:
  explicit SimulatedAnnealing(ExploredSpace& explored)
      : explored_(explored),
        steps_(std::max<std::uint64_t>(
            1, std::min(explored.planned(), kStepsPerParameter * explored.varied().size()))) {}

  std::optional<Proposal> next() override {
    if (current_.cost == kDidNotRun) {
      if (open_ > 0) return std::nullopt;
      return propose(explored_.any());
    }
    if (open_ == kMostOpen) return std::nullopt;
    if (progress() >= 1) {
      if (open_ > 0) return std::nullopt;
      step_ = 0;
      results_before_ = explored_.results();
      current_ = std::exchange(improved_, false) ? best_ : Tried{};
      return next();
    }
    const auto moved = explored_.random().chance(kAdjacent) ? explored_.adjacent(current_.index)
                                                            : explored_.neighbour(current_.index);
    return propose(moved ? *moved : explored_.any());
  }

  void tell(const Proposal& proposal, double cost) override {
    --open_;
    ++step_;
    if (!accepts(cost, current_.cost, temperature(), explored_.random())) return;
    current_ = {proposal.index, cost};
    if (cost >= best_.cost) return;
    best_ = current_;
    improved_ = true;
  }

 private:
  /// Temperatures are slowdowns that are accepted with probability 1 / e.
  static constexpr double kFirstTemperature = 0.3;
  static constexpr double kLastTemperature = 0.005;
  /// Steps of a cooling from the first to the last, for each parameter; fewer when fewer are planned.
  static constexpr std::uint64_t kStepsPerParameter = 25;
  /// Half of the steps are to the next value up or down.
  static constexpr double kAdjacent = 0.5;
  static constexpr std::size_t kMostOpen = 4;

  Proposal propose(std::uint64_t index) {
    ++open_;
    return {index};
  }

  /// Results of other walkers count too: they share what is planned.
  double progress() const {
    return static_cast<double>(std::max(step_, explored_.results() - results_before_)) /
           static_cast<double>(steps_);
  }

  double temperature() const {
    return kFirstTemperature * std::pow(kLastTemperature / kFirstTemperature, std::min(1.0, progress()));
  }

  ExploredSpace& explored_;
  std::uint64_t steps_;
  std::uint64_t step_ = 0;
  std::uint64_t results_before_ = 0;  ///< results before this cooling
  std::size_t open_ = 0;
  Tried current_;
  Tried best_;
  bool improved_ = false;  ///< in this cooling
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> make_simulated_annealing(const std::vector<SearchedSpace>& spaces,
                                                   std::uint64_t seed) {
  return search::make_walkers(spaces, seed, search::make_walker<search::SimulatedAnnealing>);
}

}  // namespace tiletune
