#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "measure/device_kernels.h"
#include "measure/launch_checks.h"
#include "space/instance.h"

namespace tiletune {

/// Samples that are queued at a time.
inline constexpr int kLongestSeries = 16;
/// Of a buffer's copies, so of a sample's launches that are checked.
inline constexpr std::size_t kMostCopies = 100;

/// What outputs hold before a timed launch: a small number in every type.
inline constexpr std::uint32_t kValidLookingWord = 0x3c5b3c5b;

/// By how much one output may differ from its reference.
struct ErrorLimits {
  double reference_rms = 0;
  double error_bound = 0;                   ///< norm-wise, relative
  std::optional<Tolerance> tolerance = {};  ///< of each element, in place of the bound

  /// Of each element: that, or what the bound allows an element that is as large as most.
  Tolerance of_element() const { return tolerance.value_or(Tolerance{error_bound * reference_rms, 0}); }
};

/// One output of a range of launches, and what it must be.
struct CheckedOutput {
  std::array<BufferCopies, 2> copies;  ///< where the launches wrote it
  DeviceAddress reference = 0;
  ErrorLimits limits;
};

/// "3 of 4096 elements of c differ from the reference by more than 1e-06 + 1e-05 x |reference|"
std::string describe_off(std::uint64_t off, const Workload::SizedBuffer& buffer, const Tolerance& tolerance);

bool is_wrong(const Workload::SizedBuffer& buffer, const LaunchCheck& check, const ErrorLimits& limits);
/// What is wrong with it.
std::string describe(const Workload::SizedBuffer& buffer, const LaunchCheck& check,
                     const ErrorLimits& limits);

/// Comparisons of timed launches' outputs with the reference. They run on the GPU behind the launches, and
/// are read later.
class CheckQueue {
 public:
  /// `outputs` are the buffers that every launch writes.
  CheckQueue(Gpu& gpu, DeviceKernels& kernels, std::vector<Workload::SizedBuffer> outputs);

  /// Makes space for checks of so many launches, kLongestSeries * kMostCopies at most. May wait for the GPU,
  /// which queue() never does.
  void reserve(std::size_t launches);
  /// Of so many launches; `where` has one element for each output.
  void queue(std::size_t launches, const std::vector<CheckedOutput>& where,
             std::shared_ptr<LaunchTally> tally);
  /// Waits, and adds what was queued to the tallies.
  void settle();

 private:
  /// Queued comparisons of one call.
  struct Queued {
    std::shared_ptr<LaunchTally> tally;
    std::vector<ErrorLimits> limits;  ///< by output
    std::size_t first = 0;            ///< of its LaunchChecks, one after the other for each launch and output
    std::size_t launches = 0;
  };

  void settle(const Queued& queued, const std::vector<LaunchCheck>& checks) const;

  Gpu& gpu_;
  DeviceKernels& kernels_;
  std::vector<Workload::SizedBuffer> outputs_;
  DeviceBuffer checks_;
  std::vector<Queued> queued_;
  std::size_t used_ = 0;
};

}  // namespace tiletune
