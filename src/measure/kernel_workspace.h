#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/outcome.h"
#include "gpu/device.h"
#include "measure/device_kernels.h"
#include "measure/guards.h"
#include "space/instance.h"

namespace tiletune {

/// A configuration cannot be launched on this GPU, and the context is fine: what its row will say.
class Unlaunchable : public GpuError {
 public:
  Unlaunchable(Outcome outcome, const std::string& reason) : GpuError(reason), outcome_(outcome) {}
  Outcome outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

/// What a configuration has for itself beside the problem's buffers.
class OwnMemory {
 public:
  virtual ~OwnMemory() = default;

  /// As before the first launch.
  virtual void reset() = 0;
  /// Gives the arrays whose contents are undefined one of two bit patterns, both NaN as floating point. What
  /// is to be zero stays as the last launch left it.
  virtual void poison(int variant) = 0;
  /// What a launch did wrong, if anything: it wrote outside an array, or left one not zero that it must.
  virtual std::optional<Finding> check() = 0;
  /// The former alone.
  virtual std::optional<Finding> check_surroundings() = 0;
};

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
