#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu/cublas.h"
#include "gpu/device.h"
#include "measure/argument_pack.h"
#include "measure/device_kernels.h"
#include "measure/messages.h"

namespace tiletune {

/// Computes the outputs in FP64 from the buffers' present contents: cuBLAS' (or, without it, the harness'
/// own) FP64 product on widened inputs for gemm, the template's reference kernel otherwise. Returns one FP64
/// buffer per output.
std::map<std::string, DeviceBuffer> compute_reference(Gpu& gpu, DeviceKernels& kernels, Blas* blas,
                                                      const PrepareRequest& request,
                                                      const std::map<std::string, DeviceAddress>& addresses);

/// The product of a gemm problem as cuBLAS takes it, on the given buffers and in their types.
BlasGemm blas_gemm(const PrepareRequest& request, const std::map<std::string, DeviceAddress>& addresses);
/// cuBLAS has no integer types here; true for problems blas_gemm() can express.
bool has_blas_types(const PrepareRequest& request);

}  // namespace tiletune
