#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/explored_space.h"
#include "search/strategy.h"

namespace tiletune::search {

/// A configuration whose cost a walker wants to know.
struct Wish {
  std::uint64_t index = 0;
  std::size_t purpose = 0;  ///< the walker's own
};

/// One run of a method in one space. It says what it wants to know, as if all of the space were known; the
/// strategy that drives it remembers results, and has only those measured that are missing.
class Walker {
 public:
  virtual ~Walker() = default;

  /// What it wants to know next. None: it waits for results, or, when none of its wishes is open, it has come
  /// to its end, and a new walker takes its place. The number of its open wishes is bounded.
  virtual std::optional<Wish> next() = 0;
  /// Answers a wish; wishes may be answered in another order than they were made in.
  virtual void told(const Wish& wish, double cost) = 0;
};

using MakeWalker = std::unique_ptr<Walker>(ExploredSpace& explored);
template <typename Method>
std::unique_ptr<Walker> make_walker(ExploredSpace& explored) {
  return std::make_unique<Method>(explored);
}

/// A strategy of walkers. One that is asked for one configuration at a time has one walker in each space,
/// which runs as its method is described. Asked for more at a time, it adds walkers while those that there
/// are wait for results; at most as many choices are open as were ever asked for at a time. A walker that
/// wants to know nothing new for long is replaced by a new one. Once nearly all of a space is tried, its rest
/// is tried in random order.
///
/// Spaces are drawn at random: the nearer the best time found in one is to the best of all, the more often.
std::unique_ptr<Strategy> make_walkers(const std::vector<SearchedSpace>& spaces, std::uint64_t seed,
                                       MakeWalker* make);

}  // namespace tiletune::search
