#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "gpu/nvml.h"
#include "measure/guards.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

class InputChecks;
class LoadedKernel;

/// Launches on poisoned outputs, compared with the reference.
class Verifier {
 public:
  Verifier(Gpu& gpu, ProblemBuffers& buffers, Timer& timer) : gpu_(gpu), buffers_(buffers), timer_(timer) {}

  /// The launch to verify, and its configuration, if it is one: then its workspace is checked, too.
  struct Launch {
    std::function<void()> run;
    LoadedKernel* kernel = nullptr;
    bool on_first_gpu = false;  ///< of a problem over several GPUs: uses the whole buffers, which are there
  };
  /// One launch; `variant` chooses the poison. Waits for it.
  Verification check(const Launch& launch, double tolerance_factor, int variant);

 private:
  double launch_on_poison(const Launch& launch, int variant);
  Finding with_stability(Finding finding, const Launch& launch, int variant);

  Gpu& gpu_;
  ProblemBuffers& buffers_;
  Timer& timer_;
};

/// Loads, verifies and times one configuration, then runs `checks`, if any. What is its own fault comes back
/// as an outcome; an error that ruins the context is thrown as CudaError.
Measured measure_kernel(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, const Nvml& nvml,
                        const MeasureRequest& request, InputChecks* checks = nullptr);

/// What NVML says right now, and how launches are timed.
GpuCondition read_condition(const Nvml& nvml, const Timer& timer);

/// What the outputs are by the request's candidates: the first result that as many of them agree on as it
/// asks for, in FP64, or as integers. Two floating-point results agree when they differ by no more than both
/// may err; of operations with a tolerance, by no more than that. Candidates that cannot be launched, write
/// elsewhere or leave elements out do not count. `turn` is called before each is launched. Throws GpuError
/// when no result has enough of them.
std::map<std::string, DeviceBuffer> reach_consensus(Gpu& gpu, ProblemBuffers& buffers,
                                                    const std::function<void(std::uint64_t ticket)>& turn);

}  // namespace tiletune
