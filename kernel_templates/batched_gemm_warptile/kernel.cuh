#include "common/warp_product.cuh"

// sgemm_warptile for every matrix of a batch: blockIdx.z is the matrix, blockIdx.x the tile of C in it. Tiles
// of a matrix are neighbours in the order of blocks, so that its A and B come from the L2 cache. Block, warp
// and thread tiles, the two pipelines (PREFETCH and FRAGMENT_BUFFERS) and the order of the multiply-adds are
// in common/warp_product.cuh. Small matrices have no use for large tiles: there the batch fills the GPU, and
// several small blocks per multiprocessor hide each other's first loads. A second instance of the code serves
// matrices whose rows do not start on 16-byte boundaries.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int WM_ITER, int WN_ITER, int PAD_A,
          LaneMap LANE_MAP, bool PREFETCH, int FRAGMENT_BUFFERS, bool SERPENTINE, int MIN_BLOCKS,
          int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    batched_gemm_warptile(int M, int N, int K, float alpha, const float* __restrict__ A,
                          const float* __restrict__ B, float beta, float* __restrict__ C) {
  using Tiling = WarpTiling<BM, BN, BK, WM, WN, TM, TN, WM_ITER, WN_ITER, PAD_A, LANE_MAP>;
  constexpr MultiplyOrder kOrder = SERPENTINE ? row_serpentine : plain;
  extern __shared__ __align__(16) float shared[];
  const long long matrix = blockIdx.z;
  A += matrix * M * K;
  B += matrix * K * N;
  C += matrix * M * N;

  float sum[TM][TN] = {};
  if (rows_are_aligned(A, B, C, N, K)) {
    multiply_tile<Tiling, 4, PREFETCH, FRAGMENT_BUFFERS, kOrder>(sum, tile_origin<BM, BN>(N), shared, M, N, K,
                                                                 A, K, B, N);
    store_tile<Tiling, 4>(sum, tile_origin<BM, BN>(N, block_index()), M, N, alpha, beta, C, N);
  } else {
    multiply_tile<Tiling, 1, PREFETCH, FRAGMENT_BUFFERS, kOrder>(sum, tile_origin<BM, BN>(N), shared, M, N, K,
                                                                 A, K, B, N);
    store_tile<Tiling, 1>(sum, tile_origin<BM, BN>(N, block_index()), M, N, alpha, beta, C, N);
  }
}
