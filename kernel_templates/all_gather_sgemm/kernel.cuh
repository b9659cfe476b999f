#include "common/gather.cuh"
#include "common/pipeline.cuh"
#include "common/raster.cuh"

// sgemm_pipelined where each GPU has a slice of the rows of A, and multiplies all of A by its own columns of
// B.
//
// Blocks begin with the tiles of the GPU's own slice, then take the slices of the GPUs behind it. What other
// GPUs have arrives in chunks, and a block waits before the first tile of a chunk until its word says that it
// is here. Whoever copies sets the words (TRANSFER): copy engines beside this kernel, or its first `copiers`
// blocks.
//
// PERSISTENT: MIN_BLOCKS blocks per multiprocessor take one tile after another, instead of one block each.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, Loader LOADER, int PAD_A,
          LaneMap LANE_MAP, int VEC, Edges EDGES, int COPY_STEP, Transfer TRANSFER, bool PERSISTENT,
          Raster RASTER, int GROUP, int MIN_BLOCKS, int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    all_gather_sgemm(int rows, int N, int K, int slices, int rank, float alpha, const float* __restrict__ A,
                     const float* __restrict__ B, float* __restrict__ C, float* gathered,
                     const float* const* peers, unsigned* arrived, unsigned* left, int chunks, int copiers) {
  using T = PipelineTiling<LOADER, BM, BN, BK, WM, WN, TM, TN, PAD_A, LANE_MAP>;
  using Tiles = Pipeline<T, LOADER, VEC, EDGES, STAGES, keeps_rows(LOADER) ? 1 : 2, a_first,
                         TM >= TN ? row_serpentine : column_serpentine, COPY_STEP>;
  extern __shared__ __align__(1024) float shared[];
  constexpr int kWarps = THREADS / 32;
  const int complete = TRANSFER == copy_engine ? 1 : TRANSFER == loads ? copiers * kWarps : 0;
  const Arrivals arrivals{arrived, chunks, rows / chunks, complete};
  const int first = static_cast<int>(blockIdx.x) - copiers;
  if (TRANSFER == loads && first < 0) {
    const long long chunk_bytes = static_cast<long long>(rows / chunks) * K * sizeof(float);
    copy_slices(reinterpret_cast<char*>(gathered), reinterpret_cast<const char* const*>(peers), rank, slices,
                chunk_bytes, arrivals, blockIdx.x * kWarps + threadIdx.x / 32, copiers * kWarps);
  } else {
    Tiles pipeline(shared);
    const TileOrigin thread = T::thread_origin(threadIdx.x);
    const int of_slice = ((rows - 1) / BM + 1) * ((N - 1) / BN + 1);
    const int tiles = PERSISTENT ? of_slice * slices : first + 1;
    for (int number = first; number < tiles; number += gridDim.x - copiers) {
      const int slice = slice_of_step(rank, number / of_slice, slices);
      const TileOrigin tile = grouped_tile_origin<BM, BN, RASTER, GROUP>(rows, N, number % of_slice);
      if (slice != rank && threadIdx.x == 0) arrivals.wait(slice, tile.row, min(BM, rows - tile.row));
      __syncthreads();  // the chunk is here, and the last tile's stages have been read
      const float* const a = slice == rank ? A : gathered + static_cast<long long>(slice) * rows * K;
      float sum[TM][TN] = {};
      pipeline.multiply({rows, N, K, a, K, B, N, nullptr, nullptr}, tile, 0, (K - 1) / BK + 1, sum);
      float* const c = C + static_cast<long long>(slice) * rows * N;
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
          store_results<VEC>(c, rows, N, N, tile.row + thread.row + T::row(i),
                             tile.column + thread.column + T::column(j), alpha, &sum[i][j], 0.0f);
        }
      }
    }
  }
  if (TRANSFER != nccl) clear_by_last_block(arrived, slices * chunks, left);
}
