#include <cuda.h>
#include <gtest/gtest.h>

#include "gpu/device.h"

namespace tiletune {
namespace cuda_error_test {

TEST(CudaError, TellsRefusedLaunchesFromThoseThatLeaveTheContextBroken) {
  for (const CUresult refused : {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_INVALID_VALUE,
                                 CUDA_ERROR_INVALID_CLUSTER_SIZE, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE}) {
    EXPECT_TRUE(CudaError(refused, "").launch_refused()) << refused;
  }
  for (const CUresult broken : {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_TIMEOUT}) {
    EXPECT_FALSE(CudaError(broken, "").launch_refused()) << broken;
  }
}

}  // namespace cuda_error_test
}  // namespace tiletune
