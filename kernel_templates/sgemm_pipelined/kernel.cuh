#include "common/pipeline.cuh"
#include "common/raster.cuh"

// sgemm_hierarchical with a pipeline in front of it: STAGES tiles are in shared memory or on their way to it.
// With one tile ahead (STAGES == 2) a block waits whenever memory is late once; with more, deliveries average
// out. Asynchronous copies (LOADER) need no registers for what is under way.
//
// PERSISTENT: MIN_BLOCKS blocks per multiprocessor take one tile of C after another, instead of one block
// each.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, Loader LOADER, int PAD_A,
          LaneMap LANE_MAP, int VEC, Edges EDGES, int FRAGMENT_BUFFERS, FragmentOrder FRAGMENT_ORDER,
          MultiplyOrder ORDER, int COPY_STEP, bool PERSISTENT, Raster RASTER, int GROUP, int MIN_BLOCKS,
          int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sgemm_pipelined(int M, int N, int K, float alpha, const float* __restrict__ A, int lda,
                    const float* __restrict__ B, int ldb, float beta, float* __restrict__ C, int ldc,
                    const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map) {
  using T = PipelineTiling<LOADER, BM, BN, BK, WM, WN, TM, TN, PAD_A, LANE_MAP>;
  extern __shared__ __align__(1024) float shared[];
  Pipeline<T, LOADER, VEC, EDGES, STAGES, FRAGMENT_BUFFERS, FRAGMENT_ORDER, ORDER, COPY_STEP> pipeline(
      shared);
  const TileOrigin thread = T::thread_origin(threadIdx.x);
  const int tiles = PERSISTENT ? ((M - 1) / BM + 1) * ((N - 1) / BN + 1) : blockIdx.x + 1;
  for (int number = blockIdx.x; number < tiles; number += gridDim.x) {
    const TileOrigin tile = grouped_tile_origin<BM, BN, RASTER, GROUP>(M, N, number);
    float sum[TM][TN] = {};
    if (PERSISTENT) __syncthreads();  // the last tile's stages have been read
    pipeline.multiply({M, N, K, A, lda, B, ldb, &a_map, &b_map}, tile, 0, (K - 1) / BK + 1, sum);
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        store_results<VEC>(C, M, N, ldc, tile.row + thread.row + T::row(i),
                           tile.column + thread.column + T::column(j), alpha, &sum[i][j], beta);
      }
    }
  }
}
