#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpu/cublas.h"

namespace tiletune {

/// The type of the numbers that a kernel of cuBLAS or cuBLASLt multiplies, as its name tells: tf32 of FP32
/// numbers that tensor cores round, e4m3 of 8-bit floating-point numbers of either kind. None of a name that
/// does not tell, and of kernels that only add up what others have left.
std::optional<BlasType> multiplied_type(std::string_view kernel);

/// Why none of a product's kernels multiplies numbers of the type that was asked for; empty where one does,
/// and where no name tells.
std::string type_fault(const BlasGemm& gemm, std::span<const std::string> kernels);

}  // namespace tiletune
