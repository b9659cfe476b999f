#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tiletune {

/// What the model tells apart. An instruction whose guard is never true is `nothing`.
enum class SassKind {
  fma,              ///< FFMA: 2 flops per lane
  fma_pair,         ///< FFMA2, from sm_100 on: 4
  add_or_multiply,  ///< FADD, FMUL: 1
  shared_load,
  shared_store,
  global_load,
  global_store,
  async_copy,  ///< LDGSTS: global to shared memory past the registers
  async_wait,  ///< DEPBAR: until all copies but the newest `pending` groups have arrived
  local_access,
  barrier,
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
  int stall = 0;                       ///< cycles before the warp's next instruction may issue
  int bytes = 0;                       ///< per lane, of memory accesses
  int pending = 0;                     ///< of async_wait
  std::optional<std::int64_t> target;  ///< of a branch: the index of an instruction, if it lies in this code

  std::uint32_t opcode() const { return low & 0xfff; }
};

/// Decodes a kernel's code. Unknown instructions are `other`; a tail of less than 16 bytes is left out.
std::vector<SassInstruction> decode_sass(std::string_view code, int architecture);

}  // namespace tiletune
