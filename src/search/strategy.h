#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "space/space.h"

namespace tiletune {

/// One of the spaces of a search, which differ in their templates, and how many of its configurations may be
/// tried.
struct SearchedSpace {
  const Space* space = nullptr;
  std::uint64_t planned = 0;  ///< at most the space's size; all spaces together may get fewer
};

/// A configuration of one of them.
struct Choice {
  std::size_t space = 0;    ///< in the list of spaces
  std::uint64_t index = 0;  ///< in that space
  auto operator<=>(const Choice&) const = default;
};

/// What is known of a configuration on another problem.
struct Lesson {
  std::size_t space = 0;  ///< whose template it is of, in the list of spaces
  std::vector<std::uint32_t>
      positions;             ///< of its values among those of the parameters, as Space::positions()
  double relative_time = 1;  ///< its time, divided by the best that is known of that problem
  double distance = 1;       ///< distance of its problem from this one, 0 (alike) to 1
};

/// Decides what is tried of one problem, over the spaces of all its templates.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// The next configurations to try, `most` at most, each once in a search. None: it waits for results
  /// of earlier ones, or, when it has all of them, it is done.
  virtual std::vector<Choice> ask(std::size_t most) = 0;
  /// The next configurations to try among `some`, which cost less to try than others. None: the strategy does
  /// not expect that one of them may be the fastest, or does not take costs into account.
  virtual std::vector<Choice> ask_among(const std::vector<Choice>& /*some*/, std::size_t /*most*/) {
    return {};
  }
  /// What became of a choice: its median time, or none when it did not run. Results come in any order, some
  /// long after other choices were asked for, and a choice may get a second one.
  virtual void tell(const Choice& choice, std::optional<double> median_us) = 0;
  /// How many lessons it learns from, at most.
  virtual std::size_t most_lessons() const { return 0; }
  /// Called before anything is asked, with what is known of other problems.
  virtual void learn(const std::vector<Lesson>& /*lessons*/) {}
  /// How much faster than the best so far the best configuration may still be, in per cent of its time, as
  /// the strategy estimates it; none: it has no estimate, or not yet.
  virtual std::optional<double> remaining_gain_percent() { return std::nullopt; }
};

}  // namespace tiletune
