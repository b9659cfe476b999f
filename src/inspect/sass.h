#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace tiletune {

inline constexpr std::uint64_t kInstructionBytes = 16;
/// Reads as zero: RZ.
inline constexpr std::uint64_t kZeroRegister = 255;
/// Threads of a warp, each of which does what an instruction says.
inline constexpr double kLanes = 32;

/// What the model and the instruction mix distinguish. An instruction whose guard is never true is `nothing`.
enum class SassKind {
  fma,              ///< FFMA: 2 flops per lane
  fma_pair,         ///< FFMA2, from sm_100 on: 4
  add_or_multiply,  ///< FADD, FMUL: 1
  half_math,        ///< HFMA2: 4, HADD2 and HMUL2: 2
  double_math,      ///< DFMA: 2, DADD and DMUL: 1
  tensor,           ///< HMMA, QMMA, OMMA, IMMA, BMMA, DMMA
  tensor_async,     ///< of a group of four warps or of thread blocks
  conversion,       ///< between floating-point types and integers
  shared_load,      ///< also of matrix fragments (LDSM)
  shared_store,
  shared_atomic,
  global_load,   ///< also generic, hence of another block's shared memory in a cluster
  global_store,  ///< also generic
  global_reduction,
  async_copy,    ///< LDGSTS: global to shared memory past the registers
  async_commit,  ///< LDGDEPBAR: closes a group of copies
  async_wait,    ///< DEPBAR: until all copies but the newest `pending` groups have arrived
  bulk_load,     ///< by the copy engine (TMA), into shared memory
  bulk_store,    ///< by the copy engine, out of shared memory
  mbarrier,      ///< SYNCS and what arrives at such a barrier
  local_load,    ///< spills and arrays that are indexed
  local_store,
  barrier,
  cluster_barrier,
  branch,
  exit,
  nothing,
  other
};

/// One 16-byte instruction of sm_70 or newer.
struct SassInstruction {
  SassKind kind = SassKind::other;
  std::uint64_t low = 0, high = 0;     ///< its bits
  bool conditional = false;            ///< has a guard
  int bytes = 0;                       ///< per lane, of memory accesses
  double flops = 0;                    ///< of a warp
  int element_bits = 0;                ///< of a matrix instruction's factors
  int pending = 0;                     ///< of async_wait
  std::optional<std::int64_t> target;  ///< of a branch: the index of an instruction, if it lies in this code

  std::uint32_t opcode() const { return low & 0xfff; }
  /// The opcode without the bits that say where the operands come from.
  std::uint32_t operation() const { return low & 0x1ff; }

  bool is_one_of(std::initializer_list<SassKind> kinds) const {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  }

  // What the compiler schedules with, at the top of the second word.
  /// Cycles before the warp's next instruction may issue.
  int stall() const { return static_cast<int>(high >> 41 & 0xf); }
  /// The scoreboard (0 to 5) that is held until the result is there; 7: none.
  int write_scoreboard() const { return static_cast<int>(high >> 46 & 7); }
  /// The scoreboard that is held until the operands are read; 7: none.
  int read_scoreboard() const { return static_cast<int>(high >> 49 & 7); }
  /// The scoreboards that must be free before this one issues, a bit each.
  int wait_mask() const { return static_cast<int>(high >> 52 & 0x3f); }
  /// The scoreboard whose results an async_wait counts.
  int waited_scoreboard() const { return static_cast<int>(low >> 44 & 7); }
  /// The operands (a bit each) that stay in the reuse cache for the warp's next instruction.
  int reuse_mask() const { return static_cast<int>(high >> 58 & 0xf); }
};

/// Decodes a kernel's code. Unknown instructions are `other`; a tail of less than 16 bytes is left out.
std::vector<SassInstruction> decode_sass(std::string_view code, int architecture);

}  // namespace tiletune
