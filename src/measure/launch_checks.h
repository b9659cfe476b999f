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
#include "measure/messages.h"
#include "space/instance.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Largest single error allowed, as a multiple of the norm-wise bound times the reference's RMS: over 10^9
/// elements the largest of normally distributed errors stays below 6.5 standard deviations.
inline constexpr double kLargestErrorFactor = 16;

/// Whether an output differs too much from its reference: norm-wise by more than `bound`, or in its worst
/// element (absolute) by more than kLargestErrorFactor x bound x the reference's RMS.
bool exceeds(double bound, double relative_error, double largest_error, double reference_rms);

/// Half the distance from 1 to the next number; 0 for integers.
double unit_roundoff(ElementType type);

/// Largest norm-wise relative error a correct kernel may show: factor * (2 u_out + 2 sqrt(L) u_acc) with the
/// unit roundoff u_out of the output's type, u_acc of the sums, and L products summed per output: rounding
/// errors of random sign grow with sqrt(L) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
/// ed., 2.8). TF32's 3e-4 lies far above it for every length that fits a GPU.
double error_bound(ElementType output, double accumulation_roundoff, double accumulation_length,
                   double factor);
/// That of an output of a problem. A reference that other configurations computed errs as they do.
double error_bound(const PrepareRequest& problem, ElementType output, double tolerance_factor);

/// Why the figures of a configuration that its worker calls right say that it is wrong: its relative error is
/// larger than any output's bound. Empty when they do not, or where elements have a tolerance.
std::string contradiction(const Accuracy& accuracy, const PrepareRequest& problem, double tolerance_factor);

/// What the outputs of a kernel's timed launches were found to be.
struct LaunchTally {
  double tolerance_factor = 1;
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
  std::string first_fault;  ///< of the first that was wrong

  /// "1 of 11 timed launches that were checked is wrong: ..."
  std::string reason() const;
};

/// Samples that are queued at a time.
inline constexpr int kLongestSeries = 16;
/// How many copies of its buffers a problem has, and launches a batch.
inline constexpr std::size_t kMostCopies = 100;

/// By how much one output may differ from its reference.
struct ErrorLimits {
  double reference_rms = 0;                 ///< the largest of several
  double error_bound = 0;                   ///< norm-wise, relative
  std::optional<Tolerance> tolerance = {};  ///< of each element, in place of the bound

  /// What each element may differ by: the tolerance, or what the bound allows an element that is as large as
  /// most.
  Tolerance of_element() const { return tolerance.value_or(Tolerance{error_bound * reference_rms, 0}); }
};

/// One output of a range of launches, and what it must be.
struct CheckedOutput {
  std::array<BufferCopies, 2> copies;  ///< where the launches wrote it
  std::array<SetChoice, 2> choices;    ///< of their references
  DeviceAddress first_reference = 0;
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

  /// Makes space for checks of `launches`, at most kLongestSeries * kMostCopies. May wait for the GPU,
  /// which queue() never does.
  void reserve(std::size_t launches);
  /// Queues the checks of `launches` launches, before which outputs were filled with a word; `where` has one
  /// element for each output.
  void queue(std::size_t launches, std::vector<CheckedOutput> where, std::uint32_t filled_with,
             std::shared_ptr<LaunchTally> tally);
  /// Waits, and adds what was queued to the tallies.
  void settle();

 private:
  /// Queued comparisons of one call.
  struct Queued {
    std::shared_ptr<LaunchTally> tally;
    std::vector<CheckedOutput> where;  ///< by output
    std::size_t first = 0;  ///< of its LaunchChecks, one after the other for each launch and output
    std::size_t launches = 0;
  };

  Gpu& gpu_;
  DeviceKernels& kernels_;
  std::vector<Workload::SizedBuffer> outputs_;
  DeviceBuffer checks_;
  std::vector<Queued> queued_;
  std::size_t used_ = 0;
};

}  // namespace tiletune
