#pragma once

#include <optional>
#include <string>

#include "compile/request.h"
#include "gpu/device.h"
#include "spec/element_type.h"

namespace tiletune {

/// CUDA source that travels in the executable and is compiled at run time.
struct OwnSource {
  const char* file;  ///< its name, for messages
  const char* text;
  const char* kernel;  ///< one of its kernels
};

/// Poison, guard bands, checksums (device_kernels.cu)
extern const OwnSource kDeviceKernels;
/// Inputs and comparisons of one element type (typed_kernels.cu)
extern const OwnSource kTypedKernels;
/// The ceilings' kernels (calibration_kernels.cu)
extern const OwnSource kCalibrationKernels;

/// `type`: of kTypedKernels alone.
CompileRequest compile_request_of(const OwnSource& source, int compute_major, int compute_minor,
                                  std::optional<ElementType> type = {});

/// The source's kernels for this GPU: from the cubin cache, or compiled now. Throws GpuError.
std::string cubin_of(const OwnSource& source, const DeviceFacts& device,
                     std::optional<ElementType> type = {});

}  // namespace tiletune
