#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/stream.h"
#include "space/instance.h"

namespace tiletune {

/// What a kernel on one of several GPUs is passed.
struct PeerArguments {
  std::int64_t rank = 0;                                        ///< of the GPU
  const std::map<std::string, DeviceAddress>* lists = nullptr;  ///< of addresses on all GPUs, by array
};

/// A scalar as its type has it, in the low bytes; `rank` stands for the number of the GPU. Throws GpuError
/// for a string.
std::uint64_t scalar_bits(ArgumentValue argument, std::int64_t rank = 0);

/// Values of kernel arguments in the memory layout cuLaunchKernel takes: one address per argument.
class ArgumentPack {
 public:
  /// Scalars are converted to their type; buffers are looked up in `addresses`, also those of tensor maps.
  /// Throws GpuError for an unknown buffer, and Unlaunchable for a tensor map that the driver refuses.
  ArgumentPack(const std::vector<ArgumentValue>& arguments,
               const std::map<std::string, DeviceAddress>& addresses, const PeerArguments& peers = {});
  std::span<void* const> pointers() const { return pointers_; }

 private:
  std::vector<TensorMapBytes> storage_;  // space for the largest kind of argument, aligned for every one
  std::vector<void*> pointers_;
};

}  // namespace tiletune
