#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/text.h"
#include "inspect/occupancy.h"
#include "inspect/tensor_map_rules.h"

namespace tiletune {
namespace {

// CUDA C++ Programming Guide, Technical Specifications per Compute Capability; the same for all of them.
constexpr Dim3 kLargestBlock = {1024, 1024, 64};
constexpr Dim3 kLargestGrid = {2147483647, 65535, 65535};
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

void check_capability(Admission& admission, const GpuModel& gpu,
                      const std::optional<ComputeCapability>& needed) {
  if (!needed || ComputeCapability{gpu.compute_major, gpu.compute_minor} >= *needed) return;
  refuse(admission, fmt::format("compute capability {} of {} < {}.{} that the configuration needs",
                                gpu.compute_capability(), gpu.name, needed->major, needed->minor));
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

void check_tensor_maps(Admission& admission, const GpuModel& gpu, const Instance& instance) {
  for (const ArgumentValue& argument : instance.arguments) {
    if (!argument.tensor_map) continue;
    const std::string fault = tensor_map_fault(gpu, *argument.tensor_map);
    if (!fault.empty()) refuse(admission, fmt::format("tensor map of {}: {}", argument.name, fault));
  }
}

/// Every kernel is compiled for the GPU it runs on; another's would be the work of a stray file in the cache.
void check_architecture(Admission& admission, const GpuModel& gpu, int architecture) {
  if (architecture == 0 || architecture == 10 * gpu.compute_major + gpu.compute_minor) return;
  refuse(admission,
         fmt::format("the compiled kernel is for sm_{}, but {} is sm_{}{}; remove the kernel cache",
                     architecture, gpu.name, gpu.compute_major, gpu.compute_minor));
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

void check_local(Admission& admission, const Resources& resources) {
  if (resources.stack_bytes > kMostLocalBytes) {
    refuse(admission, fmt::format("{} B of local memory per thread > {} B that a thread may have",
                                  resources.stack_bytes, kMostLocalBytes));
  }
}

/// "i32" and its size; a buffer is passed by its address.
std::pair<std::string_view, int> passed_as(const ArgumentValue& argument) {
  if (argument.kind == Argument::Kind::buffer) return {"buffer", 8};
  if (argument.kind == Argument::Kind::tensor_map) return {"tensor map", 128};
  const bool wide = argument.type == ScalarType::i64 || argument.type == ScalarType::f64;
  return {name(argument.type), wide ? 8 : 4};
}

/// Whether the parameter takes what is passed: the same size, or the low bytes of an integer, for parameters
/// such as bool, which no scalar type of a template is as small as.
bool fits(const ArgumentValue& argument, int parameter_bytes) {
  const bool integer = argument.kind == Argument::Kind::scalar && argument.type != ScalarType::f32 &&
                       argument.type != ScalarType::f64;
  return passed_as(argument).second == parameter_bytes || (integer && parameter_bytes <= 2);
}

/// A launch with other arguments than the kernel takes reads whatever lies beside them.
void check_arguments(Admission& admission, const Instance& instance, const Resources& resources) {
  if (!resources.parameter_bytes) return;
  const std::vector<int>& parameters = *resources.parameter_bytes;
  if (parameters.size() != instance.arguments.size()) {
    refuse(admission, fmt::format("arguments: the kernel takes {}, the template passes {}", parameters.size(),
                                  instance.arguments.size()));
    return;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ArgumentValue& argument = instance.arguments[i];
    if (fits(argument, parameters[i])) continue;
    const auto [type, bytes] = passed_as(argument);
    refuse(admission, fmt::format("argument {} of the kernel has {} B, the template passes {} ({}) with {} B",
                                  i + 1, parameters[i], argument.name, type, bytes));
  }
}

void check_limits(Admission& admission, const Resources& resources, const AdmissionLimits& limits) {
  if (limits.max_registers && resources.registers > *limits.max_registers) {
    refuse(admission, fmt::format("{} registers per thread > {} of limits.max_registers", resources.registers,
                                  *limits.max_registers));
  }
  if (limits.max_spill_bytes && resources.spill_bytes() > *limits.max_spill_bytes) {
    refuse(admission, fmt::format("spills {} B (stores {} + loads {}) > {} B of limits.max_spill_bytes",
                                  resources.spill_bytes(), resources.spill_store_bytes,
                                  resources.spill_load_bytes, *limits.max_spill_bytes));
  }
  const Occupancy& occupancy = *admission.occupancy;
  if (limits.min_occupancy && occupancy.fraction < *limits.min_occupancy) {
    refuse(admission, fmt::format("occupancy {}% < {}% of limits.min_occupancy ({})",
                                  three_digits(occupancy.fraction * 100),
                                  three_digits(*limits.min_occupancy * 100), occupancy.arithmetic));
  }
}

void add_warnings(Admission& admission, const Resources& resources) {
  if (resources.spill_bytes() > 0) {
    admission.warnings.push_back(fmt::format("spills {} B", resources.spill_bytes()));
  }
  if (admission.occupancy->fraction < kLowOccupancy) {
    admission.warnings.push_back(
        fmt::format("occupancy {}%", three_digits(admission.occupancy->fraction * 100)));
  }
}

}  // namespace

std::string buffers_fault(const GpuModel& gpu, const Workload& workload) {
  return memory_fault(gpu, "buffers", workload.buffers);
}

Admission admit_launch(const GpuModel& gpu, const Instance& instance) {
  Admission admission;
  check_capability(admission, gpu, instance.min_compute_capability);
  check_block(admission, gpu, instance.block);
  check_extents(admission, "grid", "blocks", instance.grid, kLargestGrid);
  if (instance.dynamic_shared_bytes > gpu.shared_bytes_per_block_optin) {
    refuse(admission, fmt::format("dynamic shared memory {} B > {} B that a block may have on {}",
                                  instance.dynamic_shared_bytes, gpu.shared_bytes_per_block_optin, gpu.name));
  }
  const std::string too_much = memory_fault(gpu, "workspace", instance.workspace);
  if (!too_much.empty()) refuse(admission, too_much);
  check_tensor_maps(admission, gpu, instance);
  return admission;
}

Admission admit_binary(const GpuModel& gpu, const Instance& instance, const Resources& resources,
                       const AdmissionLimits& limits) {
  Admission admission = admit_launch(gpu, instance);
  if (!admission.admitted) return admission;
  const std::int64_t threads = instance.block.count();
  admission.occupancy =
      compute_occupancy(gpu, resources, static_cast<int>(threads), instance.dynamic_shared_bytes);
  check_architecture(admission, gpu, resources.architecture);
  check_launch_bound(admission, resources, threads);
  check_shared(admission, gpu, resources, instance.dynamic_shared_bytes);
  check_registers(admission, gpu, resources, *admission.occupancy);
  check_local(admission, resources);
  check_arguments(admission, instance, resources);
  if (admission.occupancy->blocks_per_multiprocessor == 0) {
    refuse(admission, "no block fits on a multiprocessor: " + admission.occupancy->arithmetic);
  }
  check_limits(admission, resources, limits);
  if (admission.admitted) add_warnings(admission, resources);
  return admission;
}

}  // namespace tiletune
