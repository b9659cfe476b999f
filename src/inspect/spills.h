#pragma once

#include <cstdint>
#include <string>

#include "inspect/elf.h"

namespace tiletune {

/// Bytes per thread that the code moves between registers and local memory because registers ran out. As
/// ptxas counts them: each instruction once, however often it runs.
struct Spills {
  std::int64_t store_bytes = 0;
  std::int64_t load_bytes = 0;
};

/// The spills of a kernel and of the functions in its cubin, which it may call. ptxas marks the instructions
/// that spill. Where the marks are missing (before CUDA 12.6) or may be cut off, every access to local memory
/// counts: never fewer than there are, but arrays in local memory count too. Throws UserError when the cubin
/// is damaged.
Spills read_spills(const CubinElf& elf, const std::string& kernel);

}  // namespace tiletune
