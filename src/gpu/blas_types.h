#pragma once

#include <cublas_v2.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/cublas.h"

namespace tiletune {

/// What cuBLAS and cuBLASLt share. Private to the gpu library.

constexpr std::size_t kBlasWorkspaceBytes = std::size_t{32} << 20;

/// Throws GpuError for a type whose matrices cuBLAS does not multiply.
cudaDataType blas_data_type(ElementType type);
/// The type of alpha and beta: FP16, FP64 and integer products have scalars of their own type.
cudaDataType blas_scalar_type(const BlasGemm& gemm);
cublasOperation_t blas_operation(bool transposed);
/// Pedantic FP32: no TF32, no emulation, whatever the environment asks for; TF32 for matrices of that type.
cublasComputeType_t blas_compute_type(const BlasGemm& gemm);

/// Alpha or beta in the scalar type of a product.
class BlasScalar {
 public:
  BlasScalar(const BlasGemm& gemm, double value);
  const void* address() const;

 private:
  cudaDataType type_;
  double f64_;
  float f32_;
  _Float16 f16_;
  std::int32_t i32_;
};

/// "13.0.2" of 130002
std::string blas_version_text(std::size_t version);

}  // namespace tiletune
