#pragma once

#include <functional>

#include "gpu/nvml.h"
#include "measure/messages.h"
#include "measure/timing.h"

namespace tiletune {

/// Runs a subject back to back for `seconds`, on the first copy of its buffers, and reads clock and power
/// over the second half of that time, when the first has warmed the GPU up. `beat` is called now and then.
Sustained run_sustained(Gpu& gpu, const Nvml& nvml, const Subject& subject, double estimate_us,
                        double seconds, const std::function<void()>& beat);

}  // namespace tiletune
