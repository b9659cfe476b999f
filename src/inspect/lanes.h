#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "inspect/sass.h"
#include "space/instance.h"

namespace tiletune {

/// What is known of a register over the 32 lanes of a warp.
struct LaneValues {
  enum class Kind {
    unknown,
    relative,  ///< the lanes' differences: the true values are these plus one number that is the same for all
               ///< lanes
    absolute   ///< the values themselves
  };
  Kind kind = Kind::unknown;
  std::array<std::int64_t, 32> value{};

  bool uniform() const;
  bool known() const { return kind != Kind::unknown; }
};

/// Follows the first warp of a thread block through its code in order of address, as if every guard were
/// true, and computes what integer instructions make of threadIdx and the kernel's arguments. This tells how
/// the addresses of one memory access differ between lanes, hence whether it is coalesced and whether banks
/// of shared memory conflict. Instructions it does not know give an unknown result when their operands differ
/// between lanes.
class LaneTracker {
 public:
  /// `constants`: 32-bit words of constant bank 0 by offset (blockDim, the arguments).
  LaneTracker(const Dim3& block, std::map<std::uint32_t, std::int64_t> constants);

  void step(const SassInstruction& instruction);
  const LaneValues& vector_register(std::uint32_t number) const;

 private:
  struct Operands {
    LaneValues a, b, c;
  };

  LaneValues read(bool uniform, std::uint64_t number) const;
  LaneValues constant(std::uint64_t low) const;
  Operands operands(const SassInstruction& instruction, bool uniform) const;
  std::optional<LaneValues> evaluate(const SassInstruction& instruction, std::uint32_t operation,
                                     const Operands& operands) const;
  LaneValues special(std::uint64_t number) const;
  void write(bool uniform, std::uint64_t number, const LaneValues& values);

  Dim3 block_;
  std::map<std::uint32_t, std::int64_t> constants_;
  std::vector<LaneValues> vector_, uniform_;
};

/// Aligned pieces of memory (lines of 128 bytes, sectors of 32) that an access of `bytes` per lane touches.
/// The lowest address is taken to be aligned.
double pieces_touched(const LaneValues& addresses, int bytes, std::int64_t piece_bytes);

/// Wavefronts of an access to shared memory: per group of lanes that one can serve (32 lanes of 4 bytes, 16
/// of 8, 8 of 16), the most different words that fall on one of the 32 banks.
double bank_wavefronts(const LaneValues& addresses, int bytes);

}  // namespace tiletune
