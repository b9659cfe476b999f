#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "search/explored_space.h"
#include "search/strategies.h"

namespace tiletune {
namespace search {
namespace {

/// How many parameters of the best local optimum a new start differs in.
constexpr std::size_t kChanged = 3;
/// How often a new start is a changed optimum; else it is any configuration.
constexpr double kFromOptimum = 0.5;
/// About a third of the neighbours in a usual space: more would rarely be looked at one after the other.
constexpr std::size_t kMostOpen = 16;

/// Proposals in a row whose results are known already, after which a walker is replaced.
constexpr int kPatience = 100;
/// Known proposals that one choice may take, then it is an untried configuration. Bounds the time of ask().
constexpr int kMostKnown = 300;
/// The share of a space from which on its rest is tried in random order: finding what is left would take
/// walkers ever longer.
constexpr double kNearlyAll = 0.9;

/// Iterated local search (Lourenço, Martin and Stützle, 2003): looks at the neighbours of a configuration
/// that runs in random order, moves to the first better one until none is better, then starts elsewhere.
/// While results are open it looks at further neighbours. It proposes configurations as if all of the space
/// were known; whoever drives it has only those measured that are missing.
class Walker {
 public:
  explicit Walker(ExploredSpace& explored) : explored_(&explored) {}

  /// The configuration whose cost it asks for next. None: it waits for results.
  std::optional<std::uint64_t> next() {
    if (starts_) return std::nullopt;
    if (neighbours_) {
      if (open_ == kMostOpen) return std::nullopt;
      if (const auto neighbour = neighbours_->next()) {
        ++open_;
        return neighbour;
      }
      if (open_ > 0) return std::nullopt;
      if (current_.cost < best_.cost) best_ = current_;
      neighbours_.reset();
    }
    starts_ = true;
    const bool from_optimum = best_.cost != kDidNotRun && explored_->random().chance(kFromOptimum);
    return from_optimum ? explored_->changed(best_.index, kChanged) : explored_->any();
  }

  /// The result of a proposal; results may come in another order than the proposals.
  void tell(const Tried& tried) {
    if (!starts_) --open_;
    const bool moves = starts_ ? tried.cost != kDidNotRun : tried.cost < current_.cost;
    starts_ = false;
    if (!moves) return;
    current_ = tried;
    neighbours_.emplace(*explored_, tried.index);
  }

 private:
  ExploredSpace* explored_;
  std::optional<Neighbours> neighbours_;  ///< of the current configuration; none: a start is sought
  Tried current_;
  Tried best_;            ///< local optimum
  std::size_t open_ = 0;  ///< neighbours without a result
  bool starts_ = false;   ///< the cost of a start is open
};

/// A space has its full share of the search until it has so many results.
constexpr std::uint64_t kResultsForShare = 16;
/// A space whose best time is 10% longer than the best of all gets about half of that one's share.
constexpr double kSharpness = 8;
constexpr double kLeastShare = 0.02;

/// The walkers of one space.
class SpaceSearch {
 public:
  SpaceSearch(const SearchedSpace& searched, std::uint64_t seed) : explored_(searched, seed) {}
  SpaceSearch(const SpaceSearch&) = delete;  // walkers refer to the explored space
  SpaceSearch& operator=(const SpaceSearch&) = delete;

  bool is_done() const { return explored_.asked() == explored_.planned(); }

  std::uint64_t choose() {
    const auto proposed = next_proposed();
    const std::uint64_t index = proposed ? *proposed : explored_.untried();
    explored_.ask(index);
    return index;
  }

  /// Whether it was the first result of a configuration that was asked for.
  bool tell(std::uint64_t index, double cost) {
    bool is_first = false;
    if (!explored_.tell(index, cost, is_first) || !is_first) return false;
    auto node = waiting_.extract(index);
    if (node.empty()) return true;
    for (const std::uint64_t number : node.mapped()) {
      const auto found = runs_.find(number);
      if (found == runs_.end()) continue;  // replaced in the meantime
      --found->second.open;
      found->second.walker.tell({index, cost});
    }
    return true;
  }

  double share(double best_cost) const {
    if (explored_.results() < kResultsForShare) return 1;
    if (explored_.best_cost() == kDidNotRun)
      return std::max(kLeastShare,
                      static_cast<double>(kResultsForShare) / static_cast<double>(explored_.results()));
    if (explored_.best_cost() <= best_cost) return 1;
    return std::max(kLeastShare, std::pow(best_cost / explored_.best_cost(), kSharpness));
  }
  double best_cost() const { return explored_.best_cost(); }

 private:
  struct Run {
    Walker walker;
    std::size_t open = 0;  ///< proposals without a result
    int known = 0;         ///< in a row, or under way already
    bool is_over = false;
  };

  /// The next proposal of the first walker that does not wait, or of a new one. None: nothing new.
  std::optional<std::uint64_t> next_proposed() {
    if (static_cast<double>(explored_.asked()) >= kNearlyAll * static_cast<double>(explored_.size()))
      return std::nullopt;
    int left = kMostKnown;
    for (auto run = runs_.begin(); left > 0;) {
      if (run == runs_.end()) run = runs_.emplace_hint(run, ++numbers_, Run{Walker(explored_)});
      if (const auto index = advance(run->first, run->second, left)) return index;
      run = run->second.is_over ? runs_.erase(run) : std::next(run);
    }
    return std::nullopt;
  }

  /// A walker's next proposal that was never asked for. None: it waits or is over, or `left` is spent.
  std::optional<std::uint64_t> advance(std::uint64_t number, Run& run, int& left) {
    for (; left > 0; --left) {
      const auto index = run.walker.next();
      if (!index) {
        run.is_over = run.open == 0;
        break;
      }
      if (const auto cost = explored_.cost(*index)) {
        run.walker.tell({*index, *cost});
      } else {
        ++run.open;
        waiting_[*index].push_back(number);
        if (!explored_.is_asked(*index)) {
          run.known = 0;
          return index;
        }
      }
      run.is_over = ++run.known > kPatience;
      if (run.is_over) break;
    }
    return std::nullopt;
  }

  ExploredSpace explored_;
  std::map<std::uint64_t, Run> runs_;  ///< by number, the oldest first
  std::uint64_t numbers_ = 0;
  /// By configuration that is under way: who waits for it.
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> waiting_;
};

/// Asked for one configuration at a time, it has one walker in each space. Asked for more at a time, it adds
/// walkers while those that there are wait for results; at most as many choices are open as were ever asked
/// for at a time. A walker that proposes nothing new for long is replaced by a new one. Once nearly all of a
/// space is tried, its rest is tried in random order.
///
/// Spaces are drawn at random: the nearer the best time found in one is to the best of all, the more often.
class LocalSearch : public Strategy {
 public:
  LocalSearch(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) : random_(seed) {
    for (const SearchedSpace& space : spaces)
      spaces_.push_back(std::make_unique<SpaceSearch>(space, random_.number()));
  }

  std::vector<Choice> ask(std::size_t most) override {
    most_under_way_ = std::max(most_under_way_, most);
    std::vector<Choice> choices;
    while (choices.size() < most && under_way_ < most_under_way_) {
      const auto space = draw();
      if (!space) break;
      choices.push_back({*space, spaces_[*space]->choose()});
      ++under_way_;
    }
    return choices;
  }

  void tell(const Choice& choice, std::optional<double> median_us) override {
    if (spaces_[choice.space]->tell(choice.index, median_us.value_or(kDidNotRun))) --under_way_;
  }

 private:
  /// None: all is tried that is planned.
  std::optional<std::size_t> draw() {
    double best_cost = kDidNotRun;
    for (const auto& space : spaces_) best_cost = std::min(best_cost, space->best_cost());
    std::vector<double> shares;
    double sum = 0;
    for (const auto& space : spaces_)
      sum += shares.emplace_back(space->is_done() ? 0 : space->share(best_cost));
    if (sum == 0) return std::nullopt;
    double drawn = random_.unit() * sum;
    std::size_t last = 0;
    for (std::size_t space = 0; space < shares.size(); ++space) {
      if (shares[space] == 0) continue;
      last = space;
      if (drawn < shares[space]) break;
      drawn -= shares[space];
    }
    return last;
  }

  RandomSource random_;
  std::vector<std::unique_ptr<SpaceSearch>> spaces_;
  std::size_t under_way_ = 0;
  std::size_t most_under_way_ = 0;  ///< the most that were ever asked for at a time
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> make_local_search(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  return std::make_unique<search::LocalSearch>(spaces, seed);
}

}  // namespace tiletune
