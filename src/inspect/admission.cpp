#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/identifier.h"
#include "base/text.h"
#include "inspect/occupancy.h"

namespace tiletune {
namespace {

// CUDA C++ Programming Guide, Technical Specifications per Compute Capability; the same for all of them.
constexpr Dim3 kLargestBlock = {1024, 1024, 64};
/// A larger cluster needs an attribute of the function, which is not set: not every GPU can run it.
constexpr std::int64_t kMostBlocksPerCluster = 8;
constexpr std::int64_t kMostLocalBytes = std::int64_t{512} << 10;  // per thread

/// Below this share of the warps a multiprocessor can hold, latency is hard to hide: worth a warning, no
/// more.
constexpr double kLowOccupancy = 0.25;

void refuse(Admission& admission, std::string reason) {
  admission.admitted = false;
  if (admission.reason.empty()) admission.reason = std::move(reason);
}

void check_extents(Admission& admission, const char* what, const char* of, const Dim3& dim,
                   const Dim3& largest) {
  const std::int64_t values[] = {dim.x, dim.y, dim.z};
  const std::int64_t most[] = {largest.x, largest.y, largest.z};
  for (int axis = 0; axis < 3; ++axis) {
    if (values[axis] < 1 || values[axis] > most[axis]) {
      refuse(admission, fmt::format("{}.{} = {} {}, CUDA takes 1 to {}", what, "xyz"[axis], values[axis], of,
                                    most[axis]));
    }
  }
}

void check_block(Admission& admission, const GpuModel& gpu, const Dim3& block) {
  check_extents(admission, "block", "threads", block, kLargestBlock);
  if (admission.admitted && block.count() > gpu.max_threads_per_block) {
    refuse(admission,
           fmt::format("block of {} x {} x {} = {} threads > {} that a block may have on {}", block.x,
                       block.y, block.z, block.count(), gpu.max_threads_per_block, gpu.name));
  }
}

void check_capability(Admission& admission, const GpuModel& gpu, const Instance& instance) {
  const ComputeCapability has{gpu.compute_major, gpu.compute_minor};
  const auto& least = instance.min_compute_capability;
  const auto& most = instance.max_compute_capability;
  if (least && has < *least)
    refuse(admission, fmt::format("compute capability {} of {} < {}.{} that the configuration needs",
                                  gpu.compute_capability(), gpu.name, least->major, least->minor));
  if (most && *most < has)
    refuse(admission, fmt::format("compute capability {} of {} > {}.{}, the last with all instructions of "
                                  "the configuration (later GPUs have no wgmma)",
                                  gpu.compute_capability(), gpu.name, most->major, most->minor));
}

/// Why arrays do not fit in the GPU's memory; empty when they do. Stops at the first that is too much, so
/// that no sum overflows.
template <class Array>
std::string memory_fault(const GpuModel& gpu, const std::string& what, const std::vector<Array>& arrays) {
  std::uint64_t sum = 0;
  std::string terms;
  for (const Array& array : arrays) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(array.elements) * size_bytes(array.type);
    sum += bytes;
    terms += fmt::format("{}{} {}", terms.empty() ? "" : " + ", array.name, human_bytes(bytes));
    if (sum <= static_cast<std::uint64_t>(gpu.memory_bytes)) continue;
    return fmt::format("{} {} > {} of memory that {} has", what, terms,
                       human_bytes(static_cast<std::uint64_t>(gpu.memory_bytes)), gpu.name);
  }
  return "";
}

void check_tensor_maps(Admission& admission, const GpuModel& gpu, const KernelLaunch& launch) {
  for (const ArgumentValue& argument : launch.arguments) {
    if (!argument.tensor_map) continue;
    const std::string fault = tensor_map_fault(gpu, *argument.tensor_map);
    if (!fault.empty()) refuse(admission, fmt::format("tensor map of {}: {}", argument.name, fault));
  }
}

void check_launch(Admission& admission, const GpuModel& gpu, const KernelLaunch& launch) {
  check_block(admission, gpu, launch.block);
  check_extents(admission, "grid", "blocks", launch.grid, kLargestGrid);
  if (launch.dynamic_shared_bytes > gpu.shared_bytes_per_block_optin) {
    refuse(admission, fmt::format("dynamic shared memory {} B > {} B that a block may have on {}",
                                  launch.dynamic_shared_bytes, gpu.shared_bytes_per_block_optin, gpu.name));
  }
  check_tensor_maps(admission, gpu, launch);
  constexpr int kFirstWithProgrammaticLaunches = 9;
  if (launch.programmatic && gpu.compute_major < kFirstWithProgrammaticLaunches) {
    refuse(admission, fmt::format("a programmatic launch needs compute capability 9.0, and {} has {}.{}",
                                  gpu.name, gpu.compute_major, gpu.compute_minor));
  }
}

/// A GPU runs what was compiled for its major compute capability and at most its minor one.
void check_architecture(Admission& admission, const GpuModel& gpu, int architecture) {
  const bool runs = architecture / 10 == gpu.compute_major && architecture % 10 <= gpu.compute_minor;
  if (architecture == 0 || runs) return;
  refuse(admission, fmt::format("the compiled kernel is for sm_{}, but {} is sm_{}{}", architecture, gpu.name,
                                gpu.compute_major, gpu.compute_minor));
}

void check_launch_bound(Admission& admission, const Resources& resources, std::int64_t threads) {
  if (resources.max_threads > 0 && threads > resources.max_threads) {
    refuse(admission, fmt::format("block of {} threads > {} of the kernel's __launch_bounds__", threads,
                                  resources.max_threads));
  }
}

void check_shared(Admission& admission, const GpuModel& gpu, const Resources& resources,
                  std::int64_t dynamic) {
  if (dynamic + resources.static_shared_bytes > gpu.shared_bytes_per_block_optin) {
    refuse(admission,
           fmt::format("dynamic shared memory {} B + static {} B > {} B that a block may have on {}", dynamic,
                       resources.static_shared_bytes, gpu.shared_bytes_per_block_optin, gpu.name));
  }
}

/// The hardware takes registers for a block in rounds of one warp per scheduler.
void check_registers(Admission& admission, const GpuModel& gpu, const Resources& resources,
                     const Occupancy& occupancy) {
  if (occupancy.limit_by_registers != 0) return;
  const std::int64_t per_warp = occupancy.registers_per_block / occupancy.warps_per_block;
  const int warps = (occupancy.warps_per_block + 3) / 4 * 4;
  refuse(
      admission,
      fmt::format(
          "too many registers for the launch: {} warps, in fours {} x {} registers per warp ({} per thread) "
          "= {} > {} that a block may have on {}",
          occupancy.warps_per_block, warps, per_warp, resources.registers, warps * per_warp,
          gpu.registers_per_block, gpu.name));
}

void check_cluster(Admission& admission, const Dim3& cluster, const Dim3& grid) {
  if (cluster.count() > kMostBlocksPerCluster) {
    refuse(admission, fmt::format("cluster of {} x {} x {} = {} blocks > {} that a cluster may have",
                                  cluster.x, cluster.y, cluster.z, cluster.count(), kMostBlocksPerCluster));
  }
  const std::int64_t blocks[] = {grid.x, grid.y, grid.z};
  const std::int64_t together[] = {cluster.x, cluster.y, cluster.z};
  for (int axis = 0; axis < 3; ++axis) {
    if (blocks[axis] % together[axis] == 0) continue;
    refuse(admission, fmt::format("grid.{} = {} blocks is not a multiple of the {} that its clusters have",
                                  "xyz"[axis], blocks[axis], together[axis]));
  }
}

void check_local(Admission& admission, const Resources& resources) {
  if (resources.stack_bytes > kMostLocalBytes) {
    refuse(admission, fmt::format("{} B of local memory per thread > {} B that a thread may have",
                                  resources.stack_bytes, kMostLocalBytes));
  }
}

void check_limits(Admission& admission, const Resources& resources, const Occupancy& occupancy,
                  const AdmissionLimits& limits) {
  if (limits.max_registers && resources.registers > *limits.max_registers) {
    refuse(admission, fmt::format("{} registers per thread > {} of limits.max_registers", resources.registers,
                                  *limits.max_registers));
  }
  if (limits.max_spill_bytes && resources.spill_bytes() > *limits.max_spill_bytes) {
    refuse(admission, fmt::format("spills {} B (stores {} + loads {}) > {} B of limits.max_spill_bytes",
                                  resources.spill_bytes(), resources.spill_store_bytes,
                                  resources.spill_load_bytes, *limits.max_spill_bytes));
  }
  if (limits.min_occupancy && occupancy.fraction < *limits.min_occupancy) {
    refuse(admission, fmt::format("occupancy {}% < {}% of limits.min_occupancy ({})",
                                  three_digits(occupancy.fraction * 100),
                                  three_digits(*limits.min_occupancy * 100), occupancy.arithmetic));
  }
}

void add_warnings(Admission& admission, const Resources& resources, const Occupancy& occupancy) {
  if (resources.spill_bytes() > 0) {
    admission.warnings.push_back(fmt::format("spills {} B", resources.spill_bytes()));
  }
  if (occupancy.fraction < kLowOccupancy)
    admission.warnings.push_back(fmt::format("occupancy {}%", three_digits(occupancy.fraction * 100)));
}

void check_constant(Admission& admission, const ConstantCopy& constant, const Resources& resources) {
  const auto& known = resources.constants;
  const auto variable = std::find_if(
      known.begin(), known.end(),
      [symbol = symbol_of_variable(constant.symbol)](const auto& one) { return one.first == symbol; });
  if (variable == known.end()) {
    refuse(admission,
           fmt::format("the compiled kernel has no variable '{}' in constant memory", constant.symbol));
  } else if (variable->second < constant.bytes) {
    refuse(admission, fmt::format("buffer {} of {} B > {} B of the variable '{}' in constant memory",
                                  constant.buffer, constant.bytes, variable->second, constant.symbol));
  }
}

Admission admit_kernel(const GpuModel& gpu, const KernelLaunch& launch, const Resources& resources,
                       const AdmissionLimits& limits) {
  Admission admission;
  const std::int64_t threads = launch.block.count();
  const Occupancy occupancy =
      compute_occupancy(gpu, resources, static_cast<int>(threads), launch.dynamic_shared_bytes);
  admission.occupancies.push_back(occupancy);
  check_architecture(admission, gpu, resources.architecture);
  check_launch_bound(admission, resources, threads);
  check_cluster(admission, resources.cluster, launch.grid);
  check_shared(admission, gpu, resources, launch.dynamic_shared_bytes);
  check_registers(admission, gpu, resources, occupancy);
  check_local(admission, resources);
  if (const auto fault = argument_fault(launch.arguments, resources)) refuse(admission, *fault);
  if (occupancy.blocks_per_multiprocessor == 0)
    refuse(admission, "no block fits on a multiprocessor: " + occupancy.arithmetic);
  check_limits(admission, resources, occupancy, limits);
  if (admission.admitted) add_warnings(admission, resources, occupancy);
  return admission;
}

/// Adds what is known of one launch; `name` tells it from others, and is empty where there is one.
void add(Admission& all, Admission one, const std::string& name) {
  if (!one.admitted) refuse(all, name + one.reason);
  for (const std::string& warning : one.warnings) all.warnings.push_back(name + warning);
  all.occupancies.insert(all.occupancies.end(), one.occupancies.begin(), one.occupancies.end());
}

/// "launch 2 (reduce): "
std::string launch_name(const Instance& instance, std::size_t launch) {
  if (instance.launches.size() == 1) return "";
  return fmt::format("launch {} ({}): ", launch + 1, instance.launches[launch].kernel_expression);
}

}  // namespace

std::string buffers_fault(const GpuModel& gpu, const Workload& workload) {
  return memory_fault(gpu, "buffers", workload.buffers);
}

Admission admit_launch(const GpuModel& gpu, const Instance& instance) {
  Admission admission;
  check_capability(admission, gpu, instance);
  for (std::size_t i = 0; i < instance.launches.size(); ++i) {
    Admission of_launch;
    check_launch(of_launch, gpu, instance.launches[i]);
    add(admission, std::move(of_launch), launch_name(instance, i));
  }
  const std::string too_much = memory_fault(gpu, "workspace", instance.workspace);
  if (!too_much.empty()) refuse(admission, too_much);
  return admission;
}

Admission admit_binary(const GpuModel& gpu, const Instance& instance, const std::vector<Resources>& resources,
                       const AdmissionLimits& limits) {
  Admission admission = admit_launch(gpu, instance);
  if (!admission.admitted) return admission;
  for (const ConstantCopy& constant : instance.constants)
    check_constant(admission, constant, resources.front());
  for (std::size_t i = 0; i < instance.launches.size(); ++i)
    add(admission, admit_kernel(gpu, instance.launches[i], resources.at(i), limits),
        launch_name(instance, i));
  return admission;
}

std::size_t narrowest(const std::vector<Occupancy>& occupancies) {
  const auto lowest = std::min_element(
      occupancies.begin(), occupancies.end(),
      [](const Occupancy& one, const Occupancy& other) { return one.fraction < other.fraction; });
  return static_cast<std::size_t>(lowest - occupancies.begin());
}

}  // namespace tiletune
