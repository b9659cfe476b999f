#pragma once

#include <functional>
#include <optional>

#include "measure/messages.h"
#include "measure/timing.h"
#include "measure/workspace.h"

namespace tiletune {

/// Launches on poisoned outputs, compared with the reference.
class Verifier {
 public:
  Verifier(Gpu& gpu, Workspace& workspace, Timer& timer) : gpu_(gpu), workspace_(workspace), timer_(timer) {}

  struct Verdict {
    double launch_us = 0;  ///< a crude time of the launch
    Accuracy accuracy;
    std::optional<Finding> finding;  ///< none: correct
  };
  /// One launch; `variant` chooses the poison. Waits for it.
  Verdict check(const std::function<void()>& launch, double tolerance_factor, int variant);

 private:
  double launch_on_poison(const std::function<void()>& launch, int variant);
  Finding with_stability(Finding finding, const std::function<void()>& launch, int variant);

  Gpu& gpu_;
  Workspace& workspace_;
  Timer& timer_;
};

}  // namespace tiletune
