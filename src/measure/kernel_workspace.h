#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "measure/device_kernels.h"
#include "measure/guards.h"
#include "space/instance.h"

namespace tiletune {

/// The device memory that one loaded kernel has for itself, each array between two guard bands. All copies of
/// the problem's buffers share it: launches follow each other.
class KernelWorkspace {
 public:
  /// Throws Unlaunchable, with the arithmetic, when the GPU's free memory does not suffice.
  KernelWorkspace(Gpu& gpu, DeviceKernels& kernels, const std::vector<SizedWorkspace>& arrays);

  /// By name; 0 of an array without elements.
  const std::map<std::string, DeviceAddress>& addresses() const { return addresses_; }

  /// As before the first launch.
  void reset();
  /// Gives the arrays whose contents are undefined one of two bit patterns, both NaN as floating point. What
  /// is to be zero stays as the last launch left it.
  void poison(int variant);
  /// What a launch did wrong, if anything: it wrote outside an array, or left one not zero that it must.
  std::optional<Finding> check();
  /// The former alone.
  std::optional<Finding> check_surroundings();

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
