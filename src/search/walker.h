#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/explored_space.h"
#include "search/strategy.h"

namespace tiletune::search {

/// A configuration whose cost a walker asks for.
struct Proposal {
  std::uint64_t index = 0;
  std::size_t purpose = 0;  ///< the walker's own
};

/// One run of a method in one space. It proposes configurations, as if all of the space were known; the
/// strategy that drives it remembers results, and has only those measured that are missing.
class Walker {
 public:
  virtual ~Walker() = default;

  /// Its next proposal. None: it waits for results, or, when none of its proposals is open, it has come to
  /// its end, and a new walker takes its place. The number of its open proposals is bounded.
  virtual std::optional<Proposal> next() = 0;
  /// The result of a proposal; results may come in another order than the proposals.
  virtual void tell(const Proposal& proposal, double cost) = 0;
};

using MakeWalker = std::unique_ptr<Walker>(ExploredSpace& explored);
template <typename Method>
std::unique_ptr<Walker> make_walker(ExploredSpace& explored) {
  return std::make_unique<Method>(explored);
}

/// A strategy of walkers. One that is asked for one configuration at a time has one walker in each space,
/// which runs as its method is described. Asked for more at a time, it adds walkers while those that there
/// are wait for results; at most as many choices are open as were ever asked for at a time. A walker that
/// proposes nothing new for long is replaced by a new one. Once nearly all of a space is tried, its rest
/// is tried in random order.
///
/// Spaces are drawn at random: the nearer the best time found in one is to the best of all, the more often.
std::unique_ptr<Strategy> make_walkers(const std::vector<SearchedSpace>& spaces, std::uint64_t seed,
                                       MakeWalker* make);

/// Whether a walker at a configuration of cost `current` moves to one of `cost`: always when that is no
/// worse, else with probability exp(-slowdown / temperature), where 0.1 is a slowdown by 10% (Metropolis et
/// al., 1953). Never to one that did not run.
inline bool accepts(double cost, double current, double temperature, RandomSource& random) {
  if (cost == kDidNotRun) return false;
  if (cost <= current) return true;
  return random.chance(std::exp(-(cost / current - 1) / temperature));
}

/// Local search from a configuration whose cost is known: looks at its neighbours in random order, and moves
/// to the first better one, until none is better. While results are open it looks at further neighbours.
class Descent {
 public:
  Descent(ExploredSpace& explored, const Tried& start)
      : explored_(&explored), current_(start), neighbours_(explored, start.index) {}

  /// The configuration to look at next; none: it waits, or is over.
  std::optional<std::uint64_t> next() {
    if (open_ == kMostOpen) return std::nullopt;
    const auto found = neighbours_.next();
    if (found) ++open_;
    return found;
  }
  void tell(const Tried& tried) {
    --open_;
    if (tried.cost >= current_.cost) return;
    current_ = tried;
    neighbours_ = Neighbours(*explored_, tried.index);
  }
  bool waits() const { return open_ > 0; }
  /// The best so far; a local optimum when next() gives none and it does not wait.
  const Tried& current() const { return current_; }

 private:
  /// About a third of the neighbours in a usual space: more would rarely be looked at one after the other.
  static constexpr std::size_t kMostOpen = 16;

  ExploredSpace* explored_;
  Tried current_;
  Neighbours neighbours_;
  std::size_t open_ = 0;
};

}  // namespace tiletune::search
