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

/// What the outputs must hold: what files say, else computed in FP64 from the buffers' present contents by
/// cuBLAS' (or, without it, the harness' own) FP64 product on widened inputs for gemm, by the reference
/// kernel otherwise. Returns one buffer per output: of FP64 numbers, or of integers of its own type.
std::map<std::string, DeviceBuffer> compute_reference(Gpu& gpu, DeviceKernels& kernels, Blas* blas,
                                                      const PrepareRequest& request,
                                                      const std::map<std::string, DeviceAddress>& addresses);

/// Launches a kernel of the operation on these buffers, and waits for it.
void run_operation_kernel(Gpu& gpu, const PrepareRequest::OperationLaunch& launch,
                          const std::map<std::string, DeviceAddress>& addresses);

/// The product of a gemm problem as cuBLAS takes it, on the given buffers and in their types.
BlasGemm blas_gemm(const PrepareRequest& request, const std::map<std::string, DeviceAddress>& addresses);
/// Whether cuBLAS has all types of the buffers.
bool has_blas_types(const PrepareRequest& request);

}  // namespace tiletune
