#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/libraries.h"
#include "measure/measure_kernel.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// The problems of an operation's checks: of other sizes and with other inputs than the one that is timed.
class InputChecks {
 public:
  /// Makes the problems; takes those that `before`, which may be null, has already. All other arguments must
  /// outlive it. Throws CudaError, but where memory does not suffice.
  InputChecks(Gpu& gpu, DeviceKernels& kernels, Timer& timer, const Libraries& libraries,
              std::vector<PrepareRequest> problems, InputChecks* before);

  /// Which problems could not be made, and why; or empty.
  const std::string& note() const { return note_; }

  /// Launches a configuration on each problem that the request has launches for. Adds to `result` the number
  /// of checks passed, the largest error and the library's. An error above twice the library's adds a
  /// warning; it is a wrong_result if the policy is strict. Stops at the first problem that the configuration
  /// computes wrongly, and sets the outcome and reason of that fault. Errors that ruin the context are thrown
  /// as CudaError.
  void run(const MeasureRequest& request, Measured& result);

 private:
  struct Problem {
    PrepareRequest request;
    std::unique_ptr<ProblemBuffers> buffers;  ///< null: it could not be made
    std::optional<double> library_error;      ///< none where no library computes it, or not right
  };

  void make(Problem& problem);
  void leave_out(Problem& problem, const std::string& why);
  static void judge(const Problem& problem, const Accuracy& accuracy, Measured& result);

  Gpu& gpu_;
  DeviceKernels& kernels_;
  Timer& timer_;
  const Libraries& libraries_;
  std::vector<Problem> problems_;
  std::string note_;
};

}  // namespace tiletune
