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

class ComputeLibrary;

/// What the outputs must hold: what files say, else computed in FP64 from the buffers' present contents by
/// the library (or, where it is null, the harness' own product) on widened inputs for operations of
/// libraries, by the reference kernel otherwise. Returns one buffer per output: of FP64 numbers, or of
/// integers of its own type.
std::map<std::string, DeviceBuffer> compute_reference(Gpu& gpu, DeviceKernels& kernels,
                                                      ComputeLibrary* library, const PrepareRequest& request,
                                                      const std::map<std::string, DeviceAddress>& addresses);

/// Launches a kernel of the operation on these buffers, and waits for it.
void run_operation_kernel(Gpu& gpu, const PrepareRequest::OperationLaunch& launch,
                          const std::map<std::string, DeviceAddress>& addresses);

/// The product of a gemm problem as cuBLAS takes it, on the given buffers and in their types.
BlasGemm blas_gemm(const PrepareRequest& request, const std::map<std::string, DeviceAddress>& addresses);
/// The same product of FP64 copies.
BlasGemm f64_gemm(const PrepareRequest& request, const std::map<std::string, DeviceAddress>& wide);

}  // namespace tiletune
