#pragma once

#include <memory>
#include <string>

#include "gpu/device.h"

namespace tiletune {

/// Element types of cuBLAS' matrices; FP32 is computed in FP32, never in TF32.
enum class BlasType { f16, bf16, f32, f64 };

/// One row-major product C[m,n] = alpha * A[m,k] * B[k,n] + beta * C, or a batch of dense ones behind each
/// other.
struct BlasGemm {
  std::int64_t batch = 1;
  std::int64_t m = 0, n = 0, k = 0;
  BlasType a = BlasType::f32, b = BlasType::f32, c = BlasType::f32;
  BlasType compute = BlasType::f32;
  double alpha = 1, beta = 0;
  DeviceAddress a_address = 0, b_address = 0, c_address = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  ///< elements between the starts of neighbouring rows
};

/// cuBLAS, loaded at run time, on a GPU's stream with a workspace of 32 MiB.
class Blas {
 public:
  /// Throws GpuError when libcublas cannot be opened or started.
  explicit Blas(Gpu& gpu);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// Queues the product. Throws GpuError.
  void gemm(const BlasGemm& gemm);
  /// "13.0.2"
  std::string version() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiletune
