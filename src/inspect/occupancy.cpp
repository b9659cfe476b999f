#include "inspect/occupancy.h"

#include <cuda_occupancy.h>
#include <fmt/format.h>

#include <climits>

#include "base/text.h"

namespace tiletune {
namespace {

cudaOccDeviceProp device_of(const GpuModel& gpu) {
  cudaOccDeviceProp device;
  device.computeMajor = gpu.compute_major;
  device.computeMinor = gpu.compute_minor;
  device.maxThreadsPerBlock = gpu.max_threads_per_block;
  device.maxThreadsPerMultiprocessor = gpu.max_threads_per_multiprocessor;
  device.regsPerBlock = static_cast<int>(gpu.registers_per_block);
  device.regsPerMultiprocessor = static_cast<int>(gpu.registers_per_multiprocessor);
  device.warpSize = gpu.warp_size;
  device.sharedMemPerBlock = static_cast<std::size_t>(gpu.shared_bytes_per_block);
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(gpu.shared_bytes_per_multiprocessor);
  device.numSms = gpu.multiprocessors;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(gpu.shared_bytes_per_block_optin);
  device.reservedSharedMemPerBlock = static_cast<std::size_t>(gpu.reserved_shared_bytes_per_block);
  return device;
}

/// The header's answer. Its default carve-out is the largest one. It counts bytes in int, hence the clamp,
/// which lies far above what any multiprocessor has.
cudaOccResult ask_header(const GpuModel& gpu, const Resources& resources, int threads, std::int64_t dynamic) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
  const auto dynamic_shared_bytes =
      static_cast<std::size_t>(std::clamp<std::int64_t>(dynamic, 0, kMostBytes));
  const cudaOccDeviceProp device = device_of(gpu);
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = gpu.max_threads_per_block;
  function.numRegs = resources.registers;
  function.sharedSizeBytes = static_cast<std::size_t>(resources.static_shared_bytes);
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = dynamic_shared_bytes;
  function.numBlockBarriers = resources.barriers;
  const cudaOccDeviceState state;
  cudaOccResult result{};
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state,
                                                                     threads, dynamic_shared_bytes);
  const bool blackwell = gpu.compute_major == 10 || gpu.compute_major == 12;
  if (error == CUDA_OCC_ERROR_UNKNOWN_DEVICE)
    throw UserError(fmt::format("the CUDA toolkit that tiletune was built with has no occupancy rules for "
                                "compute capability {} ({})",
                                gpu.compute_capability(), gpu.name),
                    blackwell ? "Build tiletune with CUDA 12.8 or newer."
                              : "Build tiletune with a CUDA toolkit that supports it.");
  if (error != CUDA_OCC_SUCCESS)
    throw UserError(
        fmt::format("no occupancy of {} can be computed for a block of {} threads", gpu.name, threads),
        "Check the block size and the figures of the GPU model.");
  return result;
}

int or_no_limit(int blocks) { return blocks == INT_MAX ? -1 : blocks; }

std::string limiter_of(const Occupancy& occupancy) {
  const std::pair<int, const char*> limits[] = {{occupancy.limit_by_warps, "warps"},
                                                {occupancy.limit_by_registers, "registers"},
                                                {occupancy.limit_by_shared, "shared memory"},
                                                {occupancy.limit_by_blocks, "blocks"},
                                                {occupancy.limit_by_barriers, "barriers"}};
  std::vector<std::string> names;
  for (const auto& [blocks, name] : limits)
    if (blocks == occupancy.blocks_per_multiprocessor) names.emplace_back(name);
  return join(names, "+");
}

std::string registers_text(const GpuModel& gpu, const Occupancy& occupancy) {
  constexpr int kSchedulers = 4;  // of every multiprocessor since compute capability 7.0
  const std::int64_t per_warp = occupancy.registers_per_block / occupancy.warps_per_block;
  if (per_warp == 0) return "registers: no limit";
  const std::int64_t per_scheduler = gpu.registers_per_multiprocessor / kSchedulers;
  const std::int64_t warps = kSchedulers * (per_scheduler / per_warp);
  if (occupancy.limit_by_registers == 0 && warps >= occupancy.warps_per_block)
    return fmt::format(
        "registers: {} warps x {} in whole rounds over {} schedulers exceed {} per block: 0 blocks",
        occupancy.warps_per_block, per_warp, kSchedulers, gpu.registers_per_block);
  return fmt::format("registers: {} x ({} / {}) = {} warps, {} / {} = {} blocks", kSchedulers, per_scheduler,
                     per_warp, warps, warps, occupancy.warps_per_block, occupancy.limit_by_registers);
}

std::string shared_text(const GpuModel& gpu, const Occupancy& occupancy) {
  if (occupancy.limit_by_shared < 0) return "shared memory: no limit";
  const std::int64_t most = gpu.shared_bytes_per_block_optin + gpu.reserved_shared_bytes_per_block;
  if (occupancy.shared_bytes_per_block > most)
    return fmt::format("shared memory: {} > {} per block = 0", occupancy.shared_bytes_per_block, most);
  return fmt::format("shared memory: {} / {} = {}", gpu.shared_bytes_per_multiprocessor,
                     occupancy.shared_bytes_per_block, occupancy.limit_by_shared);
}

std::string arithmetic_of(const GpuModel& gpu, const Occupancy& occupancy) {
  const int warps = gpu.max_threads_per_multiprocessor / gpu.warp_size;
  std::string text = fmt::format("{}; {}; warps: {} / {} = {}; blocks: {}", registers_text(gpu, occupancy),
                                 shared_text(gpu, occupancy), warps, occupancy.warps_per_block,
                                 occupancy.limit_by_warps, occupancy.limit_by_blocks);
  if (occupancy.limit_by_barriers >= 0) text += fmt::format("; barriers: {}", occupancy.limit_by_barriers);
  return text;
}

}  // namespace

Occupancy compute_occupancy(const GpuModel& gpu, const Resources& resources, int threads_per_block,
                            std::int64_t dynamic_shared_bytes) {
  const cudaOccResult result = ask_header(gpu, resources, threads_per_block, dynamic_shared_bytes);
  Occupancy out;
  // The header has its own table of blocks per multiprocessor; what the model says counts too.
  out.blocks_per_multiprocessor =
      std::min(result.activeBlocksPerMultiprocessor, gpu.max_blocks_per_multiprocessor);
  out.warps_per_block = (threads_per_block + gpu.warp_size - 1) / gpu.warp_size;
  out.fraction = static_cast<double>(out.blocks_per_multiprocessor * out.warps_per_block * gpu.warp_size) /
                 gpu.max_threads_per_multiprocessor;
  out.limit_by_warps = or_no_limit(result.blockLimitWarps);
  out.limit_by_registers = or_no_limit(result.blockLimitRegs);
  out.limit_by_shared = or_no_limit(result.blockLimitSharedMem);
  out.limit_by_blocks = std::min(result.blockLimitBlocks, gpu.max_blocks_per_multiprocessor);
  out.limit_by_barriers = or_no_limit(result.blockLimitBarriers);
  out.registers_per_block = result.allocatedRegistersPerBlock;
  out.shared_bytes_per_block = static_cast<std::int64_t>(result.allocatedSharedMemPerBlock);
  out.limiter = limiter_of(out);
  out.arithmetic = arithmetic_of(gpu, out);
  return out;
}

}  // namespace tiletune
