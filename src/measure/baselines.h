#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/cublas.h"
#include "gpu/cublaslt.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// A baseline that can be launched again.
struct RunnableBaseline {
  std::string name;  ///< "cublas"
  Subject subject;
};

struct Baselines {
  std::vector<MeasuredBaseline> measured;
  std::vector<RunnableBaseline> runnable;  ///< the same ones; they refer to the buffers and the libraries
  std::string note;  ///< what was left out and why, and what is odd about the others; or empty
};

/// Verifies and times cuBLAS as it comes and, when `lt` is there, the fastest of cuBLASLt's heuristics, on
/// the problem's buffers. What fails, errs too much or does not multiply in FP32 where the problem does is
/// left out; a kernel whose name tells of another type than was asked for has a warning. Takes about two
/// seconds of the GPU at most. Throws CudaError.
Baselines measure_baselines(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, Blas& blas, BlasLt* lt);

/// The part of a library kernel's name that tells of tensor cores, which multiply no FP32 numbers: "tf32",
/// "s1688" and the like. Empty when there is none.
std::string_view tensor_core_mark(std::string_view kernel);

}  // namespace tiletune
