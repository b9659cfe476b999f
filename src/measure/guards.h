#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/outcome.h"
#include "gpu/device.h"
#include "measure/device_kernels.h"
#include "space/instance.h"

namespace tiletune {

/// Something wrong with what a kernel did to memory, in words.
struct Finding {
  Outcome outcome = Outcome::wrong_result;
  std::string reason;
};

/// Bytes before and after every buffer. None under a memory checker that is to see every access past a
/// buffer's ends: TILETUNE_NO_GUARDS is set for it.
std::size_t guard_bytes();

/// What guard bands hold, but for those of inputs, and what an output's rows have between them.
inline constexpr std::uint8_t kGuardPattern = 0xa5;

/// Device memory between two guard bands, behind which there is no memory (DeviceBuffer::apart).
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  /// Allocates. Findings mention `name`. Throws CudaError.
  GuardedBuffer(std::string name, std::size_t bytes, std::uint8_t pattern);

  DeviceAddress data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  std::uint8_t pattern() const { return pattern_; }
  /// The whole allocation, including the bands.
  const DeviceBuffer& memory() const { return memory_; }
  /// Queues a fill of data and bands with the pattern.
  void fill(Gpu& gpu) const { gpu.fill8(memory_.address(), pattern_, memory_.bytes()); }
  /// What was written into the bands, if anything.
  std::optional<Finding> check(DeviceKernels& kernels) const;

 private:
  std::string name_;
  std::size_t bytes_ = 0;
  std::uint8_t pattern_ = 0;
  DeviceBuffer memory_;
  DeviceAddress data_ = 0;
};

/// A NaN in every floating-point type. It stands round inputs and between their rows: a kernel that takes it
/// for data gives a wrong result.
constexpr std::uint8_t kNanPattern = 0xff;

/// Words that are NaN as f16, bf16, f32 and f64.
inline constexpr std::uint32_t kNan = 0xffffffff;
/// NaN for every type, but none that an instruction gives: a right NaN is not taken for it.
inline constexpr std::uint32_t kOtherNan = 0x7ff57ff5;

/// What stands round a buffer's data and between its rows.
std::uint8_t pattern_round(const Workload::SizedBuffer& buffer);
ElementRows rows_of(const Workload::SizedBuffer& buffer);
/// The padding between the rows of a buffer that lies at `data`; no bands when there is none.
Bands padding_of(const Workload::SizedBuffer& buffer, DeviceAddress data);

/// A configuration cannot be launched on this GPU, and the context is fine: what its row will say.
class Unlaunchable : public GpuError {
 public:
  Unlaunchable(Outcome outcome, const std::string& reason) : GpuError(reason), outcome_(outcome) {}
  Outcome outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

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
  /// Queues the same for what kernels use, before each launch: what is to be zero becomes zero, and arrays
  /// whose contents are undefined are filled with a word.
  void poison(std::uint32_t word);
  /// What a launch did wrong, if anything: it wrote outside an array, or left one not zero that it must.
  std::optional<Finding> check();
  /// Whether it wrote outside an array, alone.
  std::optional<Finding> check_surroundings();

 private:
  struct Slot {
    SizedWorkspace array;
    GuardedBuffer memory;
  };

  void check_free_memory(const std::vector<SizedWorkspace>& arrays) const;
  std::optional<Finding> check_zero(const Slot& slot);

  Gpu& gpu_;
  DeviceKernels& kernels_;
  std::vector<Slot> slots_;  ///< of the arrays with elements
  std::map<std::string, DeviceAddress> addresses_;
};

}  // namespace tiletune
