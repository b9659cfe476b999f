#include "common/pipeline.cuh"
#include "common/raster.cuh"

// sgemm_pipelined where each GPU has a slice of the rows of A and of C, and all of B: a product of its own,
// of `rows` rows, which needs nothing from the others.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, Loader LOADER, int PAD_A,
          LaneMap LANE_MAP, int VEC, Edges EDGES, int COPY_STEP, Raster RASTER, int GROUP, int MIN_BLOCKS,
          int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sgemm_row_split(int rows, int N, int K, float alpha, const float* __restrict__ A,
                    const float* __restrict__ B, float* __restrict__ C) {
  using T = PipelineTiling<LOADER, BM, BN, BK, WM, WN, TM, TN, PAD_A, LANE_MAP>;
  extern __shared__ __align__(1024) float shared[];
  Pipeline<T, LOADER, VEC, EDGES, STAGES, keeps_rows(LOADER) ? 1 : 2, a_first,
           TM >= TN ? row_serpentine : column_serpentine, COPY_STEP>
      pipeline(shared);
  const TileOrigin thread = T::thread_origin(threadIdx.x);
  const TileOrigin tile = grouped_tile_origin<BM, BN, RASTER, GROUP>(rows, N);
  float sum[TM][TN] = {};
  pipeline.multiply({rows, N, K, A, K, B, N, nullptr, nullptr}, tile, 0, (K - 1) / BK + 1, sum);
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      store_results<VEC>(C, rows, N, N, tile.row + thread.row + T::row(i),
                         tile.column + thread.column + T::column(j), alpha, &sum[i][j], 0.0f);
    }
  }
}
