#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/binary.h"
#include "space/instance.h"

namespace tiletune {

class CubinElf;

/// What one kernel needs, read from its cubin alone: a source can print what it likes into the compiler's
/// log.
struct Resources {
  int registers = 0;             ///< per thread
  std::int64_t stack_bytes = 0;  ///< local memory frame per thread, with those of called functions
  std::int64_t spill_store_bytes = 0;
  std::int64_t spill_load_bytes = 0;
  std::int64_t static_shared_bytes = 0;  ///< per thread block, without the runtime's reserve
  std::int64_t constant_bytes = 0;       ///< __constant__ variables and literals, without the arguments
  int max_threads = 0;                   ///< from __launch_bounds__; 0 when not given
  Dim3 cluster;      ///< thread blocks that run together, from __cluster_dims__; 1 x 1 x 1 when not given
  int barriers = 0;  ///< hardware barriers used; they limit occupancy from compute capability 9.0 on
  int code_bytes = 0;
  std::optional<std::vector<int>> parameter_bytes;  ///< of the kernel's parameters, in order; none: not known
  /// Variables of the module in constant memory that a host can fill, with their sizes.
  std::vector<std::pair<std::string, std::int64_t>> constants;
  int architecture = 0;  ///< that it was compiled for: 90 for sm_90 and sm_90a; 0: not known

  std::int64_t spill_bytes() const { return spill_store_bytes + spill_load_bytes; }
};

/// Reads what one of a binary's kernels needs. Throws UserError when the cubin is not an ELF file of a GPU,
/// has no such kernel, or is cut off.
Resources read_resources(const Binary& binary, std::size_t kernel = 0);
/// Reads what all of them need, in their order.
std::vector<Resources> read_all_resources(const Binary& binary);

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
