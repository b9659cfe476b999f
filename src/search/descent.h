#pragma once

#include <cstddef>
#include <optional>

#include "search/explored_space.h"

namespace tiletune::search {

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
  void told(const Tried& tried) {
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
