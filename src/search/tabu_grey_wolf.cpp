#include <algorithm>
#include <cmath>
#include <utility>

#include "search/strategies.h"
#include "search/walker.h"

namespace tiletune {

namespace search {
namespace {

/// Grey wolf optimization (Mirjalili, Mirjalili and Lewis, 2014) on discrete values, with a tabu list. The
/// method is AdaptiveTabuGreyWolf of Kernel Tuner (gen_adaptive_tabu_greywolf; Willemsen, van Stein and van
/// Werkhoven, "Automated Algorithm Design For Auto-Tuning Optimizers"): the three best lead; each of the
/// others in turn gets a child that has each value from a leader or from itself, is sometimes moved, and
/// takes its place as in simulated annealing. Its tabu list is here all that was tried.
class TabuGreyWolf : public Walker {
 public:
  explicit TabuGreyWolf(ExploredSpace& explored)
      : explored_(explored), schedule_(std::max<std::uint64_t>(1, std::min(explored.planned(), kSchedule))) {}

  std::optional<Proposal> next() override {
    if (pack_.size() + joining_ < kPack) {
      ++joining_;
      return Proposal{explored_.any(), kJoins};
    }
    if (joining_ > 0 || stagnant_ >= kStagnation) return std::nullopt;
    const std::vector<std::size_t> order = by_cost();
    for (std::size_t i = 0; i < kPack; ++i) {
      turn_ = (turn_ + 1) % kPack;
      if (leads(order, turn_) || pack_[turn_].has_child) continue;
      pack_[turn_].has_child = true;
      return Proposal{child(order, turn_), turn_};
    }
    return std::nullopt;
  }

  void tell(const Proposal& proposal, double cost) override {
    ++results_;
    const Tried tried{proposal.index, cost};
    ++stagnant_;
    if (cost < best_cost_) {
      best_cost_ = cost;
      stagnant_ = 0;
    }
    if (proposal.purpose == kJoins) {
      --joining_;
      if (cost != kDidNotRun) pack_.push_back({tried});
      return;
    }
    Wolf& wolf = pack_[proposal.purpose];
    wolf.has_child = false;
    const double risk = leads(by_cost(), proposal.purpose) ? 0 : temperature();
    if (accepts(cost, wolf.tried.cost, risk, explored_.random())) wolf.tried = tried;
    if (stagnant_ >= kStagnation) replace_worst();
  }

 private:
  static constexpr std::size_t kPack = 8;
  static constexpr std::size_t kLeaders = 3;
  /// How often a child is moved, at first and at most: more often the longer nothing better was found.
  static constexpr double kShake = 0.2;
  static constexpr double kMostShake = 0.5;
  /// How often such a move is another value of one parameter wherever that leads, instead of to a neighbour.
  static constexpr double kJump = 0.15;
  /// Temperatures are slowdowns that are accepted with probability 1 / e.
  static constexpr double kFirstTemperature = 0.1;
  static constexpr double kLastTemperature = 0.0001;
  static constexpr double kReheating = 0.2;  ///< of the first temperature
  static constexpr double kCooling = 5;      ///< exponent, over the whole schedule
  /// Results of the schedule; fewer when fewer are planned.
  static constexpr std::uint64_t kSchedule = 1000;
  /// Results without a better one after which some of the pack are replaced: 80 rounds of the 5 that follow.
  static constexpr std::uint64_t kStagnation = 400;
  static constexpr std::size_t kReplaced = 3;

  static constexpr std::size_t kJoins = kPack;

  struct Wolf {
    Tried tried;
    bool has_child = false;  ///< whose cost is open
  };

  std::vector<std::size_t> by_cost() const {
    std::vector<std::size_t> order(pack_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return pack_[a].tried.cost < pack_[b].tried.cost; });
    return order;
  }

  /// Whether a wolf is among the best, of which `order` names all.
  static bool leads(const std::vector<std::size_t>& order, std::size_t wolf) {
    return order[0] == wolf || order[1] == wolf || order[2] == wolf;
  }

  double progress() const {
    return std::min(1.0, static_cast<double>(results_) / static_cast<double>(schedule_));
  }

  double temperature() const {
    const bool reheats =
        stagnant_ > 0 && stagnant_ % (kStagnation / 2) < kPack - kLeaders && stagnant_ >= kStagnation / 2;
    const double cooled = std::max(kLastTemperature, kFirstTemperature * std::exp(-kCooling * progress()));
    return cooled + (reheats ? kReheating * kFirstTemperature : 0);
  }

  std::uint64_t child(const std::vector<std::size_t>& order, std::size_t wolf) {
    RandomSource& random = explored_.random();
    std::vector<std::vector<std::uint32_t>> parents;
    for (const std::size_t parent : {order[0], order[1], order[2], wolf})
      parents.push_back(explored_.space().positions(pack_[parent].tried.index));
    std::vector<std::uint32_t> positions = parents.front();
    for (const std::size_t parameter : explored_.varied())
      positions[parameter] = parents[random.below(parents.size())][parameter];
    std::uint64_t child = explored_.repaired(positions);
    const double stagnation = static_cast<double>(stagnant_) / static_cast<double>(kStagnation);
    if (random.chance(std::min(kMostShake, kShake * (1 + stagnation)))) child = shaken(child);
    if (explored_.is_asked(child)) child = explored_.neighbour(child).value_or(child);
    return child;
  }

  std::uint64_t shaken(std::uint64_t child) {
    if (explored_.random().chance(kJump)) return explored_.changed(child, 1);
    const auto moved = progress() < 0.5 ? explored_.neighbour(child) : explored_.adjacent(child);
    return moved.value_or(child);
  }

  /// By any configurations that run.
  void replace_worst() {
    // Purposes of open proposals are places in the pack: not before the last of them is answered.
    if (std::any_of(pack_.begin(), pack_.end(), [](const Wolf& wolf) { return wolf.has_child; })) return;
    stagnant_ = 0;
    best_cost_ = kDidNotRun;
    for (const Wolf& wolf : pack_) best_cost_ = std::min(best_cost_, wolf.tried.cost);
    std::stable_sort(pack_.begin(), pack_.end(),
                     [](const Wolf& a, const Wolf& b) { return a.tried.cost < b.tried.cost; });
    pack_.resize(kPack - kReplaced);
  }

  ExploredSpace& explored_;
  std::uint64_t schedule_;
  std::vector<Wolf> pack_;
  std::size_t joining_ = 0;  ///< whose cost is open
  std::size_t turn_ = 0;
  std::uint64_t results_ = 0;
  std::uint64_t stagnant_ = 0;  ///< results since the last better one
  double best_cost_ = kDidNotRun;
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> make_tabu_grey_wolf(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  return search::make_walkers(spaces, seed, search::make_walker<search::TabuGreyWolf>);
}

}  // namespace tiletune
