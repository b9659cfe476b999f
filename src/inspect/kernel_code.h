#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/fields.h"
#include "compile/binary.h"
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

/// A kernel's machine code and where it spends its time.
struct KernelCode {
  std::vector<SassInstruction> instructions;
  HotLoop loop;
};

/// Throws UserError when the cubin is damaged or has no such kernel.
KernelCode read_kernel_code(const Binary& binary, std::size_t kernel = 0);

/// The units that do the floating-point operations of all kernels and of the functions that they may call.
enum class Arithmetic {
  unknown,  ///< none, or others; the cubin is damaged, or newer than the matrix instructions known here
  fp32,     ///< FP32 instructions alone: no half-precision and no matrix instructions
  tensor    ///< matrix instructions, beside others
};
Arithmetic arithmetic_of(const Binary& binary);

/// How often kinds of instructions occur: in one turn of the hot loop, or in a whole kernel.
struct InstructionMix {
  /// Accesses by the bytes that each lane moves.
  struct Accesses {
    double by_4 = 0, by_8 = 0, by_16 = 0, narrower = 0;

    double count() const { return by_4 + by_8 + by_16 + narrower; }

    static constexpr auto fields() {
      using A = Accesses;
      return list_of(field("narrower", &A::narrower), field("4_bytes", &A::by_4), field("8_bytes", &A::by_8),
                     field("16_bytes", &A::by_16));
    }
  };

  double instructions = 0;  ///< that do something
  double fma = 0;           ///< FFMA; an FFMA2 counts as two
  double fma_slots = 0;     ///< instructions that these are
  double other_math = 0;    ///< FADD, FMUL, half and double precision
  double tensor = 0;
  double conversions = 0;
  Accesses shared_loads, shared_stores, global_loads, global_stores, async_copies;
  double bulk_copies = 0;                    ///< by the copy engine (TMA), either way
  double reductions = 0;                     ///< atomic operations
  double spill_loads = 0, spill_stores = 0;  ///< in local memory, which also holds arrays that are indexed
  double barriers = 0;                       ///< of blocks and clusters
  double mbarriers = 0;
  double branches = 0;
  double other = 0;         ///< addresses, predicates, moves
  double stall_clocks = 0;  ///< sum of the stall counts: a warp alone, if nothing else held it back
  double code_bytes = 0;

  /// Tells which part of the issue slots multiply-adds take.
  double fma_share() const { return instructions > 0 ? fma_slots / instructions : 0; }
  /// 0 where there is no FFMA.
  double per_fma(double count) const { return fma > 0 ? count / fma : 0; }

  /// `fma_slots` shows in fma_share().
  static constexpr auto fields() {
    using M = InstructionMix;
    return fields_of<&M::instructions, &M::fma, &M::other_math, &M::tensor, &M::conversions, &M::shared_loads,
                     &M::shared_stores, &M::global_loads, &M::global_stores, &M::async_copies,
                     &M::bulk_copies, &M::reductions, &M::spill_loads, &M::spill_stores, &M::barriers,
                     &M::mbarriers, &M::branches, &M::other, &M::stall_clocks, &M::code_bytes>();
  }
};

InstructionMix mix_of_loop(const KernelCode& code);
InstructionMix mix_of_kernel(const KernelCode& code);

/// Hash of all that a GPU runs of a cubin when its kernels are launched, and of nothing else: code,
/// constants, initial values and resources, but no names, notes of tools and debugging information. So
/// kernels whose template arguments make no difference have one hash. Throws UserError when the cubin is
/// damaged.
std::string kernel_hash(const Binary& binary);

}  // namespace tiletune
