#pragma once

#include <string>

#include "base/error.h"
#include "base/outcome.h"

namespace tiletune {

/// A configuration cannot be launched on this GPU, and the context is fine: what its row will say.
class Unlaunchable : public GpuError {
 public:
  Unlaunchable(Outcome outcome, const std::string& reason) : GpuError(reason), outcome_(outcome) {}
  Outcome outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

}  // namespace tiletune
