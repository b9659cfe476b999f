#pragma once

#include "gpu/nvml.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// Loads, verifies and times one configuration. What is its own fault comes back as an outcome; an error that
/// ruins the context is thrown as CudaError.
Measured measure_kernel(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, const Nvml& nvml,
                        const MeasureRequest& request);

/// What NVML says right now, and how launches are timed.
GpuCondition read_condition(const Nvml& nvml, const Timer& timer);

}  // namespace tiletune
