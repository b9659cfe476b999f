#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "measure/libraries.h"
#include "measure/measure_kernel.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// The problems of an operation's checks: of other sizes and with other inputs than the one that is timed.
/// Each is made when a configuration is first launched on it.
class InputChecks {
 public:
  /// All arguments must outlive it.
  InputChecks(Gpu& gpu, DeviceKernels& kernels, Timer& timer, const Libraries& libraries,
              std::vector<PrepareRequest> problems);

  /// Launches a configuration on each problem that it has launches for. Writes into `result` the number of
  /// these, the largest error and the library's; if an error is more than twice the library's, a warning, or
  /// an outcome where the policy is strict. Stops at the first problem that it does not compute right: the
  /// outcome is then wrong_result, or what else is wrong. Errors that ruin the context are thrown as
  /// CudaError.
  void run(const MeasureRequest& request, Measured& result);

 private:
  struct Problem {
    PrepareRequest request;
    std::unique_ptr<ProblemBuffers> buffers;  ///< null: not made yet
    std::optional<double> library_error;      ///< none where no library computes it, or not right
  };

  void make(Problem& problem);
  void judge(const Problem& problem, double error, Measured& result) const;

  Gpu& gpu_;
  DeviceKernels& kernels_;
  Timer& timer_;
  const Libraries& libraries_;
  std::vector<Problem> problems_;
};

}  // namespace tiletune
