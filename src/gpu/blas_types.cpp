#include "gpu/blas_types.h"

#include <fmt/format.h>

namespace tiletune {

cudaDataType blas_data_type(BlasType type) {
  switch (type) {
    case BlasType::f16:
      return CUDA_R_16F;
    case BlasType::bf16:
      return CUDA_R_16BF;
    case BlasType::f64:
      return CUDA_R_64F;
    case BlasType::e4m3:
      return CUDA_R_8F_E4M3;
    case BlasType::e5m2:
      return CUDA_R_8F_E5M2;
    case BlasType::i8:
      return CUDA_R_8I;
    case BlasType::i32:
      return CUDA_R_32I;
    case BlasType::tf32:
    case BlasType::f32:
      break;
  }
  return CUDA_R_32F;
}

cudaDataType blas_scalar_type(const BlasGemm& gemm) {
  if (gemm.compute == BlasType::f64) return CUDA_R_64F;
  if (gemm.compute == BlasType::i32) return CUDA_R_32I;
  return gemm.compute == BlasType::f16 ? CUDA_R_16F : CUDA_R_32F;
}

cublasOperation_t blas_operation(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

cublasComputeType_t blas_compute_type(const BlasGemm& gemm) {
  if (gemm.compute == BlasType::f64) return CUBLAS_COMPUTE_64F;
  if (gemm.compute == BlasType::i32) return CUBLAS_COMPUTE_32I;
  if (gemm.a == BlasType::tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  if (gemm.compute == BlasType::f16) return CUBLAS_COMPUTE_16F;
  return gemm.a == BlasType::f32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
}

BlasScalar::BlasScalar(const BlasGemm& gemm, double value)
    : type_(blas_scalar_type(gemm)),
      f64_(value),
      f32_(static_cast<float>(value)),
      f16_(static_cast<_Float16>(f32_)),
      i32_(static_cast<std::int32_t>(value)) {}

const void* BlasScalar::address() const {
  if (type_ == CUDA_R_64F) return &f64_;
  if (type_ == CUDA_R_16F) return &f16_;
  if (type_ == CUDA_R_32I) return &i32_;
  return &f32_;
}

std::string blas_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace tiletune
