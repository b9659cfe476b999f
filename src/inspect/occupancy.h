#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "inspect/gpu_model.h"
#include "inspect/resources.h"
#include "space/instance.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// How many thread blocks of a kernel one multiprocessor holds, and why not more. From NVIDIA's
/// cuda_occupancy.h.
struct Occupancy {
  int blocks_per_multiprocessor = 0;
  int warps_per_block = 0;
  double fraction = 0;  ///< resident warps / maximum warps
  std::string
      limiter;  ///< "warps", "registers", "shared memory", "blocks", "barriers"; several joined by "+"
  int limit_by_warps = 0;  ///< blocks each resource alone would allow (-1: no limit)
  int limit_by_registers = 0;
  int limit_by_shared = 0;
  int limit_by_blocks = 0;
  int limit_by_barriers = -1;
  std::int64_t registers_per_block = 0;     ///< with the allocation granularity
  std::int64_t shared_bytes_per_block = 0;  ///< static + dynamic + reserve, rounded to the allocation unit

  /// With integer division: "registers: 4 x (16384 / 4096) = 16 warps, 16 / 8 = 2 blocks; shared memory:
  /// 233472 / 34816 = 6; warps: 64 / 8 = 8; blocks: 32". Each of the four schedulers has its own quarter of
  /// the registers.
  std::string arithmetic;

  /// What `inspect` shows; `arithmetic` has the rest.
  static constexpr auto fields() {
    using O = Occupancy;
    return fields_of<&O::fraction, &O::limiter, &O::blocks_per_multiprocessor, &O::limit_by_warps,
                     &O::limit_by_registers, &O::limit_by_shared, &O::limit_by_blocks, &O::arithmetic>();
  }
};

/// With the largest shared-memory carve-out and dynamic shared memory opted in as far as the model allows,
/// which is what cuOccupancyMaxActiveBlocksPerMultiprocessor assumes of a function whose attributes are set
/// that way. Zero blocks: it cannot be launched. Throws UserError when the toolkit tiletune was built with
/// does not know the compute capability.
Occupancy compute_occupancy(const GpuModel& gpu, const Resources& resources, int threads_per_block,
                            std::int64_t dynamic_shared_bytes);

/// Whether a configuration can be launched on a GPU, before it is tried.
struct Admission {
  bool admitted = true;
  std::string reason;                  ///< with the arithmetic, when refused
  std::vector<std::string> warnings;   ///< "spills 64 B", "occupancy 12.5%"
  std::vector<Occupancy> occupancies;  ///< by launch; empty where nothing was compiled
};

/// The launch that leaves most of a multiprocessor unused: the first with the lowest occupancy. Its figures
/// stand for the configuration.
std::size_t narrowest(const std::vector<Occupancy>& occupancies);

/// What can be refused before compiling: launch geometry (threads, grid, dynamic shared memory), workspace,
/// tensor maps, compute capability.
Admission admit_launch(const GpuModel& gpu, const Instance& instance);

/// Why the problem's buffers do not fit in the GPU's memory, with the arithmetic; empty when they do.
std::string buffers_fault(const GpuModel& gpu, const Workload& workload);

/// What is wrong with passing these arguments to a kernel, by its own table of parameters; none: nothing, or
/// the table is not known. A launch with other arguments than the kernel takes reads whatever lies beside
/// them.
std::optional<std::string> argument_fault(const std::vector<ArgumentValue>& arguments,
                                          const Resources& resources);

/// Why a GPU cannot take a tensor map, with the arithmetic; empty when it can. The rules are those that the
/// CUDA driver API gives for cuTensorMapEncodeTiled without interleaving.
std::string tensor_map_fault(const GpuModel& gpu, const TensorMapShape& map);

/// What needs the binary: of every launch, registers for the block size, launch bounds, total shared memory
/// and the config's limits; the variables in constant memory. `resources` are those of the binary's kernels.
Admission admit_binary(const GpuModel& gpu, const Instance& instance, const std::vector<Resources>& resources,
                       const AdmissionLimits& limits);

}  // namespace tiletune
