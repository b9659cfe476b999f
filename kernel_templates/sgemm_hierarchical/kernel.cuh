#include "common/raster.cuh"
#include "common/warp_product.cuh"

// The whole hierarchy with every decision a parameter: which tile of C a thread block takes (RASTER, GROUP),
// the tiles of warps and threads in it, where the lanes sit, in which order a thread multiplies, how many
// blocks share a multiprocessor.
//
// What sgemm_warptile decides while it runs is decided here when it is compiled: VEC, how many floats a load
// from or a store to global memory moves. One instance of the loop instead of two leaves the compiler more
// registers, and matrices whose rows are 8-byte aligned need not go element by element.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int WM_ITER, int WN_ITER, int PAD_A,
          LaneMap LANE_MAP, MultiplyOrder ORDER, int STAGES, int FRAGMENT_BUFFERS, int VEC, Raster RASTER,
          int GROUP, int MIN_BLOCKS, int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sgemm_hierarchical(int M, int N, int K, float alpha, const float* __restrict__ A, int lda,
                       const float* __restrict__ B, int ldb, float beta, float* __restrict__ C, int ldc) {
  using Tiling = WarpTiling<BM, BN, BK, WM, WN, TM, TN, WM_ITER, WN_ITER, PAD_A, LANE_MAP>;
  extern __shared__ __align__(16) float shared[];

  float sum[TM][TN] = {};
  multiply_tile<Tiling, VEC, STAGES == 2, FRAGMENT_BUFFERS, ORDER>(
      sum, grouped_tile_origin<BM, BN, RASTER, GROUP>(M, N), shared, M, N, K, A, lda, B, ldb);
  store_tile<Tiling, VEC>(sum, grouped_tile_origin<BM, BN, RASTER, GROUP>(M, N, block_index()), M, N, alpha,
                          beta, C, ldc);
}
