#pragma once

#include <string>

#include "compile/request.h"
#include "gpu/device.h"

namespace tiletune {

/// CUDA source that travels in the executable and is compiled at run time.
struct OwnSource {
  const char* file;  ///< its name, for messages
  const char* text;
  const char* kernel;  ///< one of its kernels
};

/// Fill, comparison, guard bands (device_kernels.cu)
extern const OwnSource kDeviceKernels;
/// The ceilings' kernels (calibration_kernels.cu)
extern const OwnSource kCalibrationKernels;

CompileRequest compile_request_of(const OwnSource& source, int compute_major, int compute_minor);

/// The source's kernels for this GPU: from the cubin cache, or compiled now. Throws GpuError.
std::string cubin_of(const OwnSource& source, const DeviceFacts& device);

}  // namespace tiletune
