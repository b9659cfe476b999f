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
  std::vector<std::size_t> trace;                 ///< one turn as a warp issues it, inner loops written out
  bool is_loop = false;
  std::size_t begin = 0, end = 0;  ///< its first instruction, and the one after its last
  /// Another loop outside this one loads for it: some warps only copy, the others only multiply.
  bool fed_by_other_warps = false;
};

/// Loops are the ranges from the target of a backward branch to the branch. A range that an unconditional
/// exit interrupts is not a loop but code that was moved out of the way. A loop that writes results to global
/// memory and has the work in a loop of its own turns over tiles; the hot one is then the loop in it.
///
/// How often loops inside the hot one turn is not known: with arithmetic in it, a loop is taken to turn
/// kAssumedTurns times; one that only copies a tile or waits, once.
inline constexpr int kAssumedTurns = 8;
HotLoop find_hot_loop(const std::vector<SassInstruction>& code);

}  // namespace tiletune
