#include "gpu/blas_types.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.h"

namespace tiletune {

cudaDataType blas_data_type(ElementType type) {
  constexpr std::array<std::pair<ElementType, cudaDataType>, 9> kTypes{{{ElementType::f16, CUDA_R_16F},
                                                                        {ElementType::bf16, CUDA_R_16BF},
                                                                        {ElementType::tf32, CUDA_R_32F},
                                                                        {ElementType::f32, CUDA_R_32F},
                                                                        {ElementType::f64, CUDA_R_64F},
                                                                        {ElementType::e4m3, CUDA_R_8F_E4M3},
                                                                        {ElementType::e5m2, CUDA_R_8F_E5M2},
                                                                        {ElementType::i8, CUDA_R_8I},
                                                                        {ElementType::i32, CUDA_R_32I}}};
  for (const auto& [known, data_type] : kTypes)
    if (known == type) return data_type;
  throw GpuError(fmt::format("cuBLAS multiplies no matrices of {}", name(type)));
}

cudaDataType blas_scalar_type(const BlasGemm& gemm) {
  if (gemm.compute == ElementType::f64) return CUDA_R_64F;
  if (gemm.compute == ElementType::i32) return CUDA_R_32I;
  return gemm.compute == ElementType::f16 ? CUDA_R_16F : CUDA_R_32F;
}

cublasOperation_t blas_operation(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

cublasComputeType_t blas_compute_type(const BlasGemm& gemm) {
  if (gemm.compute == ElementType::f64) return CUBLAS_COMPUTE_64F;
  if (gemm.compute == ElementType::i32) return CUBLAS_COMPUTE_32I;
  if (gemm.a == ElementType::tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  if (gemm.compute == ElementType::f16) return CUBLAS_COMPUTE_16F;
  return gemm.a == ElementType::f32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
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
