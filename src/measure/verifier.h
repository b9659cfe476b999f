#pragma once

#include <functional>
#include <optional>

#include "measure/kernel_workspace.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// Launches on poisoned outputs, compared with the reference.
class Verifier {
 public:
  Verifier(Gpu& gpu, ProblemBuffers& buffers, Timer& timer) : gpu_(gpu), buffers_(buffers), timer_(timer) {}

  struct Verdict {
    double launch_us = 0;              ///< a crude time of the launch
    std::optional<Accuracy> accuracy;  ///< where the outputs were compared
    std::optional<Finding> finding;    ///< none: correct
  };
  /// What is verified, and the memory it has for itself, if any.
  struct Launch {
    std::function<void()> run;
    OwnMemory* own = nullptr;
  };
  /// One launch; `variant` chooses the poison. Waits for it.
  Verdict check(const Launch& launch, double tolerance_factor, int variant);

 private:
  double launch_on_poison(const Launch& launch, int variant);
  Finding with_stability(Finding finding, const Launch& launch, int variant);

  Gpu& gpu_;
  ProblemBuffers& buffers_;
  Timer& timer_;
};

}  // namespace tiletune
