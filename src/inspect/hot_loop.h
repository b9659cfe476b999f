#pragma once

#include <cstddef>
#include <vector>

#include "inspect/sass.h"

namespace tiletune {

/// An instruction of the hot loop, and how often it is taken to run in one turn of the loop.
struct WeightedInstruction {
  std::size_t index = 0;  ///< in the kernel's code
  double weight = 1;
};

/// The loop nest that holds most of the floating-point work, or the whole kernel when no loop has any.
struct HotLoop {
  std::vector<WeightedInstruction> instructions;  ///< in order of address, without those that do nothing
  bool is_loop = false;
};

/// Loops are the ranges from the target of a backward branch to the branch. A range that an unconditional
/// exit interrupts is no loop but code that was moved out of the way. How often loops inside the hot one turn
/// is not known: with arithmetic in it, a loop is taken to turn kAssumedTurns times; without, it copies a
/// tile and is taken to turn kAssumedCopyTurns times.
inline constexpr double kAssumedTurns = 8;
inline constexpr double kAssumedCopyTurns = 2;
HotLoop find_hot_loop(const std::vector<SassInstruction>& code);

}  // namespace tiletune
