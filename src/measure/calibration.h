#pragma once

#include <vector>

#include "gpu/device.h"
#include "measure/device_kernels.h"
#include "measure/instruments.h"
#include "measure/messages.h"

namespace tiletune {

/// Measures what no kernel on this GPU can exceed: FP32 multiply-adds, copies and reads of device memory,
/// reads of shared memory; all with an L2 cache that has been flushed as before a cold sample. Each is the
/// best of a few launch shapes, a shape's time the median of five samples of about a millisecond. Takes about
/// 0.15 s of the GPU, and as much of its memory as eight times its L2 cache twice. The floors of the method
/// stay zero. Throws GpuError.
Calibration measure_ceilings(Gpu& gpu, CacheFlush& flush);

/// What it compiles for a device.
std::vector<OwnKernels> ceiling_kernels(const DeviceFacts& device);

}  // namespace tiletune
