#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "measure/device_kernels.h"
#include "space/instance.h"

namespace tiletune {

/// What the outputs of a kernel's timed launches were found to be.
struct LaunchTally {
  double tolerance_factor = 1;
  std::uint64_t queued = 0;  ///< launches; their checks may not have been read yet
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
  std::string first_fault;  ///< of the first that was wrong
  double check_us = 0;      ///< what one check takes; 0: not known yet

  /// "1 of 11 timed launches that were checked is wrong: ..."
  std::string reason() const;
  /// Drops the results so far; that checks were queued, and what one takes, stays known.
  void drop_checks();
};

/// Decides which timed launches are checked, so that checks take at most a twentieth of the time that
/// measuring takes. Except for the last of each series, a kernel that counts its launches cannot foresee the
/// choice.
class CheckBudget {
 public:
  explicit CheckBudget(std::uint64_t seed) : random_(seed) {}

  /// Which samples of a series are checked: all where the budget allows. The last of a series of several is
  /// checked in any case, and so is the first one of a kernel.
  std::vector<bool> choose(int samples, double sample_us, const LaunchTally& tally);
  /// What a series took, and what of it were checks.
  void spend(double series_us, double checks_us);

 private:
  std::mt19937_64 random_;
  double measured_us_ = 0;
  double checked_us_ = 0;
};

/// Samples that are queued at a time.
inline constexpr int kLongestSeries = 16;
/// So many of a buffer's copies, and thus of a sample's launches, are checked.
inline constexpr std::size_t kMostCopies = 100;

/// What outputs hold before a timed launch: a small number in every type.
inline constexpr std::uint32_t kValidLookingWord = 0x3c5b3c5b;

/// By how much one output may differ from its reference.
struct ErrorLimits {
  double reference_rms = 0;
  double error_bound = 0;                   ///< norm-wise, relative
  std::optional<Tolerance> tolerance = {};  ///< of each element, in place of the bound

  /// What each element may differ by: the tolerance, or what the bound allows an element that is as large as
  /// most.
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
  /// Queues the checks of so many launches; `where` has one element for each output.
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
