#include "common/warp_product.cuh"

// One level more than sgemm_vectorized: block tile, warp tiles, thread tiles. The loop over K, its two
// pipelines (PREFETCH and FRAGMENT_BUFFERS) and the order of its multiply-adds (SERPENTINE) are in
// common/warp_product.cuh. As there, a second instance of the code serves rows that do not start on 16-byte
// boundaries.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int WM_ITER, int WN_ITER, int PAD_A,
          LaneMap LANE_MAP, bool PREFETCH, int FRAGMENT_BUFFERS, bool SERPENTINE, int MIN_BLOCKS,
          int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sgemm_warptile(int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
                   float beta, float* __restrict__ C) {
  using Tiling = WarpTiling<BM, BN, BK, WM, WN, TM, TN, WM_ITER, WN_ITER, PAD_A, LANE_MAP>;
  constexpr MultiplyOrder kOrder = SERPENTINE ? row_serpentine : plain;
  extern __shared__ __align__(16) float shared[];

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
