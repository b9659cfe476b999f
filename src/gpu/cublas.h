#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "spec/element_type.h"

namespace tiletune {

/// What is done to alpha * A * B + beta * C before it is stored: a bias is added to each column, then a
/// function is applied. gelu is its approximation by tanh, as cuBLASLt has it.
enum class BlasEpilogue { identity, relu, gelu, bias, bias_relu, bias_gelu };
constexpr bool has_bias(BlasEpilogue epilogue) { return epilogue >= BlasEpilogue::bias; }

/// One row-major product C[m,n] = alpha * A[m,k] * B[k,n] + beta * C, or a batch of dense ones behind each
/// other. A transposed operand is stored as its transpose, A as [k,m] and B as [n,k]. FP32 is computed in
/// FP32; tf32 is FP32 in memory, multiplied by tensor cores as TF32. Products of i8 are summed in i32.
struct BlasGemm {
  std::int64_t batch = 1;
  std::int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
  ElementType a = ElementType::f32, b = ElementType::f32, c = ElementType::f32;
  ElementType compute = ElementType::f32;
  double alpha = 1, beta = 0;
  BlasEpilogue epilogue = BlasEpilogue::identity;
  DeviceAddress a_address = 0, b_address = 0, c_address = 0;
  DeviceAddress bias_address = 0;          ///< n elements of C's type, where the epilogue has a bias
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

  /// Whether cuBLAS has such products: none of 8-bit floating-point numbers, and no epilogues.
  static bool computes(const BlasGemm& gemm);
  /// Queues the product. Throws GpuError.
  void gemm(const BlasGemm& gemm);
  /// "13.0.2"
  std::string version() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One way in which cuBLASLt can compute a product; good for all products of the same sizes and types on
/// buffers of at least the same alignment.
struct LtAlgorithm {
  std::array<std::uint64_t, 8> descriptor{};  ///< cuBLASLt's own
  int compute_type = 0;                       ///< cublasComputeType_t
  /// "algo 20, tile 256x128, stages 8x3, split-k 1". Tiles count rows and columns of C's transpose, the
  /// column-major matrix that cuBLASLt sees.
  std::string text;
};

/// cuBLASLt, loaded at run time, on a GPU's stream with a workspace of 32 MiB.
class BlasLt {
 public:
  /// Throws GpuError when libcublasLt cannot be opened or started.
  explicit BlasLt(Gpu& gpu);
  ~BlasLt();
  BlasLt(const BlasLt&) = delete;
  BlasLt& operator=(const BlasLt&) = delete;

  /// The algorithms that its heuristics propose, the most promising first; none when it has none for such a
  /// product. FP32 is computed in FP32. Throws GpuError.
  std::vector<LtAlgorithm> heuristics(const BlasGemm& gemm, int most = 64);
  /// Queues the product. Throws GpuError.
  void run(const BlasGemm& gemm, const LtAlgorithm& algorithm);
  /// "13.0.2"
  std::string version() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "128x64" of a cublasLtMatmulTile_t; empty for numbers that the cublasLt.h of the build does not know.
std::string_view lt_tile_name(std::uint32_t id);
/// "8x3" of a cublasLtMatmulStages_t: elements of K in a stage, and stages ("AUTO": as many as fit).
std::string_view lt_stages_name(std::uint32_t id);
/// "2x1x1" of a cublasLtClusterShape_t
std::string_view lt_cluster_name(std::uint32_t id);

/// A library of NVIDIA's as it would be loaded on this machine.
struct LibraryFacts {
  std::string name;     ///< "cuBLAS"
  std::string file;     ///< empty when it cannot be opened
  std::string version;  ///< "13.0.2"
};

/// Opens cuBLAS and cuBLASLt, and keeps them open. Needs no GPU and no context.
std::vector<LibraryFacts> find_libraries();

}  // namespace tiletune
