#include "common/add_slices.cuh"
#include "common/pipeline.cuh"
#include "common/raster.cuh"
#include "common/scatter.cuh"
#include "common/split_sum.cuh"

// sgemm_pipelined where each GPU has a part of K: columns of A and rows of B. Every GPU's product is a part
// of the whole sum; each GPU is to have the sums of its slice of the rows of C. TRANSFER says how they get
// there.
//
// push: blocks begin with the tiles of other GPUs' slices. Their threads store their sums in the memory of
// the GPU whose tile it is, across NVLink, in the order in which they hold them; then the block sets the
// tile's word there. The tiles of the GPU's own slice are last, and each adds what others have sent, always
// in the same order. Each word has one reader, which sets it back to zero.
//
// copy_engine: a first launch keeps the sums of other GPUs' slices in its own memory; copy engines fetch them
// while a second launch computes the GPU's own slice.
//
// PERSISTENT: MIN_BLOCKS blocks per multiprocessor take one tile after another, instead of one block each.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, Loader LOADER, int PAD_A,
          LaneMap LANE_MAP, int VEC, Edges EDGES, int COPY_STEP, Transfer TRANSFER, bool PERSISTENT,
          Raster RASTER, int GROUP, int MIN_BLOCKS, int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sgemm_reduce_scatter(int rows, int N, int K, int slices, int rank, int first_step, int end_step,
                         float alpha, const float* __restrict__ A, const float* __restrict__ B,
                         float* __restrict__ C, float* outgoing, float* const* incoming,
                         unsigned* const* arrived, unsigned* left, int chunks) {
  using T = PipelineTiling<LOADER, BM, BN, BK, WM, WN, TM, TN, PAD_A, LANE_MAP>;
  using Own = ThreadTile<T>;
  constexpr bool kPushes = TRANSFER == push, kAdds = TRANSFER != whole_matrix;
  constexpr int kAtOnce = Own::kQuads % 8 == 0 ? 8 : 4;  // quads from a sender under way
  extern __shared__ __align__(1024) float shared[];
  Pipeline<T, LOADER, VEC, EDGES, STAGES, keeps_rows(LOADER) ? 1 : 2, a_first,
           TM >= TN ? row_serpentine : column_serpentine, COPY_STEP>
      pipeline(shared);
  const TileOrigin thread = T::thread_origin(threadIdx.x);
  const int of_slice = ((rows - 1) / BM + 1) * ((N - 1) / BN + 1);
  const Steps order{rank, slices, first_step, end_step};
  const Parts parts{of_slice, 1};
  const int first = first_step * of_slice + blockIdx.x, end = PERSISTENT ? end_step * of_slice : first + 1;
  const auto part_at = [](int part) { return static_cast<long long>(part) * (BM * BN); };

  for (int number = first; number < end; number += gridDim.x) {
    const int slice = order.slice(number / of_slice), of_tile = number % of_slice;
    const TileOrigin tile = grouped_tile_origin<BM, BN, RASTER, GROUP>(rows, N, of_tile);
    const float* const a = A + static_cast<long long>(slice) * rows * K;
    float sum[TM][TN] = {};
    if (PERSISTENT) __syncthreads();  // the last tile's stages have been read
    pipeline.multiply({rows, N, K, a, K, B, N, nullptr, nullptr}, tile, 0, (K - 1) / BK + 1, sum);

    if (kAdds && slice != rank) {
      const int part =
          parts.number(place_among_others(kPushes ? rank : slice, kPushes ? slice : rank), of_tile, 0);
      float* const to = (kPushes ? incoming[slice] : outgoing) + part_at(part);
#pragma unroll
      for (int q = 0; q < Own::kQuads; ++q)
        store_quad(to + (q * THREADS + threadIdx.x) * 4, Own::quad(sum, q, alpha));
      if (kPushes) {
        __syncthreads();
        if (threadIdx.x == 0) store_release_system(arrived[slice] + part, 1);
      }
      continue;
    }
    if (kAdds) {
      if (threadIdx.x == 0) {
        for (int sender = 0; sender < slices - 1; ++sender) {
          const int chunk = sender * chunks + of_tile / (of_slice / chunks);
          unsigned* const word = arrived[rank] + (kPushes ? parts.number(sender, of_tile, 0) : chunk);
          wait_for_word(word, 1);
          if (kPushes) *word = 0;
        }
      }
      __syncthreads();
    }
    float* const c = kAdds ? C : C + static_cast<long long>(slice) * rows * N;
#pragma unroll
    for (int first_quad = 0; first_quad < Own::kQuads; first_quad += kAtOnce) {
      float4 value[kAtOnce];
#pragma unroll
      for (int q = 0; q < kAtOnce; ++q) value[q] = Own::quad(sum, first_quad + q, alpha);
      for (int sender = 0; kAdds && sender < slices - 1; ++sender) {
        const float* const sent = incoming[rank] + part_at(parts.number(sender, of_tile, 0));
        const uint4* const quads = reinterpret_cast<const uint4*>(sent) + first_quad * THREADS + threadIdx.x;
        uint4 bits[kAtOnce];
#pragma unroll
        for (int q = 0; q < kAtOnce; ++q) bits[q] = load_sent(quads + q * THREADS);
#pragma unroll
        for (int q = 0; q < kAtOnce; ++q)
          add_quad(value[q], make_float4(__uint_as_float(bits[q].x), __uint_as_float(bits[q].y),
                                         __uint_as_float(bits[q].z), __uint_as_float(bits[q].w)));
      }
#pragma unroll
      for (int q = 0; q < kAtOnce; ++q) {
        const TileOrigin at = Own::place(first_quad + q);
        const float results[4] = {value[q].x, value[q].y, value[q].z, value[q].w};
        store_results<VEC>(c, rows, N, N, tile.row + thread.row + at.row,
                           tile.column + thread.column + at.column, 1.0f, results, 0.0f);
      }
    }
  }
  if (TRANSFER == copy_engine && order.has_own())
    clear_by_last_block(arrived[rank], (slices - 1) * chunks, left);
}
