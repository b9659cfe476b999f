#pragma once

#include <optional>
#include <string>
#include <vector>

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
/// The ceiling of the tensor cores with operands of one element type (tensor_kernels.cu)
extern const OwnSource kTensorKernels;

/// `type`: of kTypedKernels and kTensorKernels.
CompileRequest compile_request_of(const OwnSource& source, int compute_major, int compute_minor,
                                  std::optional<ElementType> type = {});

/// The source's kernels for this GPU: from the cubin cache, or compiled now. Throws GpuError.
std::string cubin_of(const OwnSource& source, const DeviceFacts& device,
                     std::optional<ElementType> type = {});

struct OwnKernels {
  const OwnSource* source = nullptr;
  std::optional<ElementType> type = {};
};

/// cubin_of() each in a thread of its own, so that all are in the cache afterwards. Throws GpuError.
void compile_together(const std::vector<OwnKernels>& wanted, const DeviceFacts& device);

}  // namespace tiletune
