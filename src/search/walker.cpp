#include "search/walker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

namespace tiletune::search {
namespace {

/// Proposals in a row whose results are known already, after which a walker is replaced.
constexpr int kPatience = 100;
/// Known proposals that one choice may take, then it is an untried configuration. Bounds the time of ask().
constexpr int kMostKnown = 300;
/// The share of a space from which on its rest is tried in random order: finding what is left would take
/// walkers ever longer.
constexpr double kNearlyAll = 0.9;

/// A space has its full share of the search until it has so many results.
constexpr std::uint64_t kResultsForShare = 16;
/// A space whose best time is 10% longer than the best of all gets about half of that one's share.
constexpr double kSharpness = 8;
constexpr double kLeastShare = 0.02;

/// The walkers of one space.
class SpaceSearch {
 public:
  SpaceSearch(const SearchedSpace& searched, std::uint64_t seed, MakeWalker* make)
      : explored_(searched, seed), make_(make) {}
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
    for (const auto& [number, proposal] : node.mapped()) {
      const auto found = runs_.find(number);
      if (found == runs_.end()) continue;  // replaced in the meantime
      --found->second.open;
      found->second.walker->tell(proposal, cost);
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
    std::unique_ptr<Walker> walker;
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
      if (run == runs_.end()) run = runs_.emplace_hint(run, ++numbers_, Run{make_(explored_)});
      if (const auto index = advance(run->first, run->second, left)) return index;
      run = run->second.is_over ? runs_.erase(run) : std::next(run);
    }
    return std::nullopt;
  }

  /// A walker's next proposal that was never asked for. None: it waits or is over, or `left` is spent.
  std::optional<std::uint64_t> advance(std::uint64_t number, Run& run, int& left) {
    for (; left > 0; --left) {
      const auto proposal = run.walker->next();
      if (!proposal) {
        run.is_over = run.open == 0;
        break;
      }
      const auto cost = explored_.cost(proposal->index);
      if (!cost) {
        ++run.open;
        waiting_[proposal->index].emplace_back(number, *proposal);
        if (!explored_.is_asked(proposal->index)) {
          run.known = 0;
          return proposal->index;
        }
      } else {
        run.walker->tell(*proposal, *cost);
      }
      run.is_over = ++run.known > kPatience;
      if (run.is_over) break;
    }
    return std::nullopt;
  }

  ExploredSpace explored_;
  MakeWalker* make_;
  std::map<std::uint64_t, Run> runs_;  ///< by number, the oldest first
  std::uint64_t numbers_ = 0;
  /// By configuration that is under way: who waits for it.
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint64_t, Proposal>>> waiting_;
};

class Walkers : public Strategy {
 public:
  Walkers(const std::vector<SearchedSpace>& spaces, std::uint64_t seed, MakeWalker* make) : random_(seed) {
    for (const SearchedSpace& space : spaces)
      spaces_.push_back(std::make_unique<SpaceSearch>(space, random_.number(), make));
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

std::unique_ptr<Strategy> make_walkers(const std::vector<SearchedSpace>& spaces, std::uint64_t seed,
                                       MakeWalker* make) {
  return std::make_unique<Walkers>(spaces, seed, make);
}

}  // namespace tiletune::search
