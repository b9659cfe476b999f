#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "measure/device_kernels.h"
#include "measure/guards.h"
#include "measure/own_memory.h"
#include "space/instance.h"

namespace tiletune {

/// The device memory that one loaded kernel has for itself, each array between two guard bands. All copies of
/// the problem's buffers share it: launches follow each other.
class KernelWorkspace : public OwnMemory {
 public:
  /// Throws Unlaunchable, with the arithmetic, when the GPU's free memory does not suffice.
  KernelWorkspace(Gpu& gpu, DeviceKernels& kernels, const std::vector<SizedWorkspace>& arrays);

  /// By name; 0 of an array without elements.
  const std::map<std::string, DeviceAddress>& addresses() const { return addresses_; }

  void reset() override;
  void poison(int variant) override;
  std::optional<Finding> check() override;
  std::optional<Finding> check_surroundings() override;

 private:
  struct Slot {
    SizedWorkspace array;
    Guarded guarded;
    DeviceBuffer memory;  // guard, data, guard
  };

  void check_free_memory(const std::vector<SizedWorkspace>& arrays) const;
  std::optional<Finding> check_zero(const Slot& slot);
  double element(const Slot& slot, std::uint64_t index);

  Gpu& gpu_;
  DeviceKernels& kernels_;
  std::vector<Slot> slots_;  ///< of the arrays with elements
  std::map<std::string, DeviceAddress> addresses_;
};

}  // namespace tiletune
