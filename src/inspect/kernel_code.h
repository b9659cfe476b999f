#pragma once

#include <vector>

#include "compile/binary.h"
#include "inspect/hot_loop.h"
#include "inspect/sass.h"

namespace tiletune {

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

  /// Of the issue slots.
  double fma_share() const { return instructions > 0 ? fma_slots / instructions : 0; }
  /// 0 where there is no FFMA.
  double per_fma(double count) const { return fma > 0 ? count / fma : 0; }
};

InstructionMix mix_of_loop(const KernelCode& code);
InstructionMix mix_of_kernel(const KernelCode& code);

}  // namespace tiletune
