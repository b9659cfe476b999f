#pragma once

#include "measure/baselines.h"
#include "measure/gpu_group.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// Verifies and times the product of a problem of several GPUs by cuBLAS, before or after what NCCL does, on
/// the problem's slices; where NCCL does nothing also by cuBLAS on the first GPU alone. What fails or errs
/// too much is left out, with a note. Throws CudaError.
Baselines measure_group_baselines(ProblemBuffers& buffers, Gpu& gpu, Timer& timer);

}  // namespace tiletune
