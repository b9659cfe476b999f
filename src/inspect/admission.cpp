#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

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

template <typename... Arguments>
void refuse(Admission& admission, fmt::format_string<Arguments...> reason, Arguments&&... arguments) {
  admission.admitted = false;
  if (admission.reason.empty()) admission.reason = fmt::format(reason, std::forward<Arguments>(arguments)...);
}

void check_extents(Admission& admission, const char* what, const char* of, const Dim3& dim,
                   const Dim3& largest) {
  const std::int64_t values[] = {dim.x, dim.y, dim.z};
  const std::int64_t most[] = {largest.x, largest.y, largest.z};
  for (int axis = 0; axis < 3; ++axis) {
    if (values[axis] < 1 || values[axis] > most[axis])
      refuse(admission, "{}.{} = {} {}, CUDA takes 1 to {}", what, "xyz"[axis], values[axis], of, most[axis]);
  }
}

void check_capability(Admission& admission, const GpuModel& gpu, const Instance& instance) {
  const ComputeCapability has{gpu.compute_major, gpu.compute_minor};
  const auto& least = instance.min_compute_capability;
  const auto& most = instance.max_compute_capability;
  if (least && has < *least)
    refuse(admission, "compute capability {} of {} < {}.{} that the configuration needs",
           gpu.compute_capability(), gpu.name, least->major, least->minor);
  if (most && *most < has)
    refuse(admission,
           "compute capability {} of {} > {}.{}, the last with all instructions of "
           "the configuration (later GPUs have no wgmma)",
           gpu.compute_capability(), gpu.name, most->major, most->minor);
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

void check_launch(Admission& admission, const GpuModel& gpu, const KernelLaunch& launch) {
  const Dim3& block = launch.block;
  check_extents(admission, "block", "threads", block, kLargestBlock);
  if (admission.admitted && block.count() > gpu.max_threads_per_block)
    refuse(admission, "block of {} x {} x {} = {} threads > {} that a block may have on {}", block.x, block.y,
           block.z, block.count(), gpu.max_threads_per_block, gpu.name);
  check_extents(admission, "grid", "blocks", launch.grid, kLargestGrid);
  if (launch.dynamic_shared_bytes > gpu.shared_bytes_per_block_optin)
    refuse(admission, "dynamic shared memory {} B > {} B that a block may have on {}",
           launch.dynamic_shared_bytes, gpu.shared_bytes_per_block_optin, gpu.name);
  for (const ArgumentValue& argument : launch.arguments) {
    if (!argument.tensor_map) continue;
    const std::string fault = tensor_map_fault(gpu, *argument.tensor_map);
    if (!fault.empty()) refuse(admission, "tensor map of {}: {}", argument.name, fault);
  }
  constexpr int kFirstWithProgrammaticLaunches = 9;
  if (launch.programmatic && gpu.compute_major < kFirstWithProgrammaticLaunches)
    refuse(admission, "a programmatic launch needs compute capability 9.0, and {} has {}.{}", gpu.name,
           gpu.compute_major, gpu.compute_minor);
}

/// The hardware takes registers for a block in rounds of one warp per scheduler.
void check_registers(Admission& admission, const GpuModel& gpu, const Resources& resources,
                     const Occupancy& occupancy) {
  if (occupancy.limit_by_registers != 0) return;
  const std::int64_t per_warp = occupancy.registers_per_block / occupancy.warps_per_block;
  const int warps = (occupancy.warps_per_block + 3) / 4 * 4;
  refuse(admission,
         "too many registers for the launch: {} warps, in fours {} x {} registers per warp ({} per thread) "
         "= {} > {} that a block may have on {}",
         occupancy.warps_per_block, warps, per_warp, resources.registers, warps * per_warp,
         gpu.registers_per_block, gpu.name);
}

void check_cluster(Admission& admission, const Dim3& cluster, const Dim3& grid) {
  if (cluster.count() > kMostBlocksPerCluster)
    refuse(admission, "cluster of {} x {} x {} = {} blocks > {} that a cluster may have", cluster.x,
           cluster.y, cluster.z, cluster.count(), kMostBlocksPerCluster);
  const std::int64_t blocks[] = {grid.x, grid.y, grid.z};
  const std::int64_t together[] = {cluster.x, cluster.y, cluster.z};
  for (int axis = 0; axis < 3; ++axis) {
    if (blocks[axis] % together[axis] == 0) continue;
    refuse(admission, "grid.{} = {} blocks is not a multiple of the {} that its clusters have", "xyz"[axis],
           blocks[axis], together[axis]);
  }
}

void check_limits(Admission& admission, const Resources& resources, const Occupancy& occupancy,
                  const AdmissionLimits& limits) {
  if (limits.max_registers && resources.registers > *limits.max_registers)
    refuse(admission, "{} registers per thread > {} of limits.max_registers", resources.registers,
           *limits.max_registers);
  if (limits.max_spill_bytes && resources.spill_bytes() > *limits.max_spill_bytes)
    refuse(admission, "spills {} B (stores {} + loads {}) > {} B of limits.max_spill_bytes",
           resources.spill_bytes(), resources.spill_store_bytes, resources.spill_load_bytes,
           *limits.max_spill_bytes);
  if (limits.min_occupancy && occupancy.fraction < *limits.min_occupancy)
    refuse(admission, "occupancy {}% < {}% of limits.min_occupancy ({})",
           three_digits(occupancy.fraction * 100), three_digits(*limits.min_occupancy * 100),
           occupancy.arithmetic);
}

void check_constant(Admission& admission, const ConstantCopy& constant, const Resources& resources) {
  const auto& known = resources.constants;
  const auto variable = std::find_if(
      known.begin(), known.end(),
      [symbol = symbol_of_variable(constant.symbol)](const auto& one) { return one.first == symbol; });
  if (variable == known.end()) {
    refuse(admission, "the compiled kernel has no variable '{}' in constant memory", constant.symbol);
  } else if (variable->second < constant.bytes) {
    refuse(admission, "buffer {} of {} B > {} B of the variable '{}' in constant memory", constant.buffer,
           constant.bytes, variable->second, constant.symbol);
  }
}

Admission admit_kernel(const GpuModel& gpu, const KernelLaunch& launch, const Resources& resources,
                       const AdmissionLimits& limits) {
  Admission admission;
  const std::int64_t threads = launch.block.count();
  const Occupancy occupancy =
      compute_occupancy(gpu, resources, static_cast<int>(threads), launch.dynamic_shared_bytes);
  admission.occupancies.push_back(occupancy);
  // A GPU runs what was compiled for its major compute capability and at most its minor one.
  const int sm = resources.architecture;
  if (sm != 0 && (sm / 10 != gpu.compute_major || sm % 10 > gpu.compute_minor))
    refuse(admission, "the compiled kernel is for sm_{}, but {} is sm_{}{}", sm, gpu.name, gpu.compute_major,
           gpu.compute_minor);
  if (resources.max_threads > 0 && threads > resources.max_threads)
    refuse(admission, "block of {} threads > {} of the kernel's __launch_bounds__", threads,
           resources.max_threads);
  check_cluster(admission, resources.cluster, launch.grid);
  if (launch.dynamic_shared_bytes + resources.static_shared_bytes > gpu.shared_bytes_per_block_optin)
    refuse(admission, "dynamic shared memory {} B + static {} B > {} B that a block may have on {}",
           launch.dynamic_shared_bytes, resources.static_shared_bytes, gpu.shared_bytes_per_block_optin,
           gpu.name);
  check_registers(admission, gpu, resources, occupancy);
  if (resources.stack_bytes > kMostLocalBytes)
    refuse(admission, "{} B of local memory per thread > {} B that a thread may have", resources.stack_bytes,
           kMostLocalBytes);
  if (const auto fault = argument_fault(launch.arguments, resources)) refuse(admission, "{}", *fault);
  if (occupancy.blocks_per_multiprocessor == 0)
    refuse(admission, "no block fits on a multiprocessor: {}", occupancy.arithmetic);
  check_limits(admission, resources, occupancy, limits);
  if (!admission.admitted) return admission;
  if (resources.spill_bytes() > 0)
    admission.warnings.push_back(fmt::format("spills {} B", resources.spill_bytes()));
  if (occupancy.fraction < kLowOccupancy)
    admission.warnings.push_back(fmt::format("occupancy {}%", three_digits(occupancy.fraction * 100)));
  return admission;
}

/// Adds what is known of one launch; `name` tells it from others, and is empty where there is one.
void add(Admission& all, Admission one, const std::string& name) {
  if (!one.admitted) refuse(all, "{}{}", name, one.reason);
  for (const std::string& warning : one.warnings) all.warnings.push_back(name + warning);
  all.occupancies.insert(all.occupancies.end(), one.occupancies.begin(), one.occupancies.end());
}

/// "launch 2 (reduce): "
std::string launch_name(const Instance& instance, std::size_t launch) {
  if (instance.launches.size() == 1) return "";
  return fmt::format("launch {} ({}): ", launch + 1, instance.launches[launch].kernel_expression);
}

/// "i32" and its size; a buffer is passed by its address.
std::pair<std::string_view, int> passed_as(const ArgumentValue& argument) {
  if (argument.kind == Argument::Kind::buffer) return {"buffer", 8};
  if (argument.kind == Argument::Kind::peers) return {"peers", 8};
  if (argument.kind == Argument::Kind::tensor_map) return {"tensor map", 128};
  return {name(argument.type), static_cast<int>(size_bytes(argument.type))};
}

/// Whether the parameter takes what is passed: the same size, or the low bytes of an integer, for parameters
/// such as bool.
bool fits(const ArgumentValue& argument, int parameter_bytes) {
  const bool integer = argument.kind == Argument::Kind::scalar && !is_floating(argument.type);
  const int bytes = passed_as(argument).second;
  return bytes == parameter_bytes || (integer && parameter_bytes <= 2 && parameter_bytes < bytes);
}

constexpr std::int64_t kMostExtent = std::int64_t{1} << 32;
constexpr std::int64_t kPitchBytesEnd = std::int64_t{1} << 40;
constexpr std::int64_t kMostBox = 256;
constexpr std::int64_t kPiece = 16;  // bytes that addresses, pitches and boxes are made of

std::int64_t swizzle_bytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::bytes_32:
      return 32;
    case Swizzle::bytes_64:
      return 64;
    case Swizzle::bytes_128:
      return 128;
    case Swizzle::none:
      break;
  }
  return 0;
}

std::string box_fault(const TensorMapShape& map, std::int64_t element_bytes) {
  for (const std::int64_t size : map.box)
    if (size > kMostBox) return fmt::format("box of {} elements > {} in one dimension", size, kMostBox);
  const std::int64_t width = map.box.front() * element_bytes;
  const std::string rows =
      fmt::format("rows of its box {} x {} B = {} B", map.box.front(), element_bytes, width);
  if (width % kPiece != 0) return fmt::format("{} are not a multiple of {} B", rows, kPiece);
  const std::int64_t span = swizzle_bytes(map.swizzle);
  if (span == 0 || width <= span) return "";
  return fmt::format("{} > {} B of the swizzle", rows, span);
}

}  // namespace

std::optional<std::string> argument_fault(const std::vector<ArgumentValue>& arguments,
                                          const Resources& resources) {
  if (!resources.parameter_bytes) return std::nullopt;
  const std::vector<int>& parameters = *resources.parameter_bytes;
  if (parameters.size() != arguments.size())
    return fmt::format("arguments: the kernel takes {}, the manifest passes {}", parameters.size(),
                       arguments.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (fits(arguments[i], parameters[i])) continue;
    const auto [type, bytes] = passed_as(arguments[i]);
    return fmt::format("argument {} of the kernel has {} B, the manifest passes {} ({}) with {} B", i + 1,
                       parameters[i], arguments[i].name, type, bytes);
  }
  return std::nullopt;
}

std::string tensor_map_fault(const GpuModel& gpu, const TensorMapShape& map) {
  constexpr int kFirstWithTensorMaps = 9;
  if (gpu.compute_major < kFirstWithTensorMaps)
    return fmt::format("needs compute capability 9.0, {} has {}", gpu.name, gpu.compute_capability());
  for (const std::int64_t extent : map.extents)
    if (extent > kMostExtent) return fmt::format("extent {} > 2^32", extent);
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(map.type));
  for (const std::int64_t pitch : map.pitches) {
    if (pitch >= kPitchBytesEnd / element_bytes)
      return fmt::format("pitch {} x {} B is not below 2^40 B", pitch, element_bytes);
    if (pitch * element_bytes % kPiece != 0)
      return fmt::format("pitch {} x {} B = {} B is not a multiple of {} B", pitch, element_bytes,
                         pitch * element_bytes, kPiece);
  }
  if (map.offset * element_bytes % kPiece != 0)
    return fmt::format("offset {} x {} B is not a multiple of {} B", map.offset, element_bytes, kPiece);
  return box_fault(map, element_bytes);
}

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
  if (!too_much.empty()) refuse(admission, "{}", too_much);
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
