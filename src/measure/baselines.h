#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/cublas.h"
#include "measure/libraries.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// The type of the numbers that a kernel of cuBLAS or cuBLASLt multiplies, as its name tells: tf32 of FP32
/// numbers that tensor cores round, e4m3 of 8-bit floating-point numbers of either kind. None of a name that
/// does not tell, and of kernels that only add up what others have left.
std::optional<ElementType> multiplied_type(std::string_view kernel);

/// Why none of a product's kernels multiplies numbers of the type that was asked for; empty where one does,
/// and where no name tells.
std::string type_fault(const BlasGemm& gemm, std::span<const std::string> kernels);

struct Baselines {
  std::vector<Measured> measured;
  std::vector<LibraryWay> runnable;  ///< the measured ones; they refer to the buffers and the libraries
  std::string note;  ///< what was left out and why, and what is odd about the others; or empty
};

/// Verifies and times the libraries' ways to compute the problem, on its buffers, and takes the fastest
/// for each name. Leaves out those that fail, exceed the error bound, or multiply an FP32 problem in another
/// type. Adds a warning if a kernel's name suggests another type than was asked for. Takes about two seconds
/// of the GPU at most. Throws CudaError.
Baselines measure_baselines(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, const Libraries& libraries);

/// The part of a library kernel's name that tells of tensor cores, which multiply no FP32 numbers: "tf32",
/// "s1688" and the like. Empty when there is none.
std::string_view tensor_core_mark(std::string_view kernel);

}  // namespace tiletune
