#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/tensor_map.h"
#include "space/instance.h"

namespace tiletune {

/// Values of kernel arguments in the memory layout cuLaunchKernel takes: one address per argument.
class ArgumentPack {
 public:
  /// Scalars are converted to their type; buffers are looked up in `addresses`, also those of tensor maps.
  /// Throws GpuError for an unknown buffer, and Unlaunchable for a tensor map that the driver refuses.
  ArgumentPack(const std::vector<ArgumentValue>& arguments,
               const std::map<std::string, DeviceAddress>& addresses);
  std::span<void* const> pointers() const { return pointers_; }

 private:
  std::vector<TensorMapBytes> storage_;  // space for the largest kind of argument, aligned for every one
  std::vector<void*> pointers_;
};

}  // namespace tiletune
