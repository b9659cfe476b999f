#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/cublas.h"
#include "gpu/device.h"

namespace tiletune {

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

}  // namespace tiletune
