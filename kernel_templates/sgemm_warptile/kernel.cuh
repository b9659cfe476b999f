#include "common/quads.cuh"

// Which lane of a warp sits where in the warp's grid of ROWS x COLUMNS lanes.
enum LaneMap {
  // Lanes 0, 1, 2, ... along a row.
  row_major,
  // Lanes 2i and 2i + 1 side by side in the shorter direction: half a warp reads 2 quads there and at most 16
  // in the other direction, which shared memory serves in the fewest wavefronts.
  paired
};

template <LaneMap MAP, int ROWS, int COLUMNS>
__device__ __forceinline__ int lane_row(int lane) {
  if (MAP == row_major || ROWS == 1 || COLUMNS == 1) return lane / COLUMNS;
  return ROWS <= COLUMNS ? lane % 2 + lane / (2 * COLUMNS) * 2 : lane / 2 % ROWS;
}

template <LaneMap MAP, int ROWS, int COLUMNS>
__device__ __forceinline__ int lane_column(int lane) {
  if (MAP == row_major || ROWS == 1 || COLUMNS == 1) return lane % COLUMNS;
  return ROWS <= COLUMNS ? lane / 2 % COLUMNS : lane % 2 + lane / (2 * ROWS) * 2;
}

// One level more than sgemm_vectorized: block tile BM x BN, in it warp tiles WM x WN, in these thread tiles
// TM x TN. A warp's elements of C form one compact tile, so its lanes share what they read from shared
// memory. A thread's tile is made of WM_ITER x WN_ITER patches, one in each sub-tile of the warp tile.
//
// PREFETCH: while a tile is multiplied, the next one is on its way to registers, and it goes to a second
// stage of shared memory: one barrier per tile instead of two, and no waiting for global memory.
//
// FRAGMENT_BUFFERS == 2: the same one level down. The fragments of step k + 1 are read from shared memory
// while those of step k are multiplied, also across the barrier.
//
// SERPENTINE: every other row of the thread tile is walked backwards. Two multiply-adds in a row then share
// an operand at the turns too, which the register file's reuse cache serves without a read.
template <bool VECTORS, int BM, int BN, int BK, int WM, int WN, int TM, int TN, int WM_ITER, int WN_ITER,
          int PAD_A, LaneMap LANE_MAP, bool PREFETCH, int FRAGMENT_BUFFERS, bool SERPENTINE>
__device__ __forceinline__ void multiply(int M, int N, int K, float alpha, const float* __restrict__ A,
                                         const float* __restrict__ B, float beta, float* __restrict__ C) {
  constexpr int kThreads = (BM / WM) * (BN / WN) * 32;
  constexpr int kLanesM = WM / TM, kLanesN = WN / TN;
  constexpr int kPatchM = TM / WM_ITER, kPatchN = TN / WN_ITER;
  constexpr int kSubtileM = WM / WM_ITER, kSubtileN = WN / WN_ITER;
  constexpr int kARow = BM + PAD_A;
  constexpr int kATile = BK * kARow, kStage = kATile + BK * BN;
  extern __shared__ __align__(16) float shared[];  // one stage, or two: each a tile of A and a tile of B

  const TileOrigin tile = tile_origin<BM, BN>(N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / (BN / WN) * WM + lane_row<LANE_MAP, kLanesM, kLanesN>(lane) * kPatchM;
  const int column = warp % (BN / WN) * WN + lane_column<LANE_MAP, kLanesM, kLanesN>(lane) * kPatchN;
  TileReader<Operand::a, kThreads, BM, BK, VECTORS> a_reader(A, M, K, tile.row);
  TileReader<Operand::b, kThreads, BN, BK, VECTORS> b_reader(B, N, K, tile.column);

  float sum[TM][TN] = {};
  float a[FRAGMENT_BUFFERS][TM], b[FRAGMENT_BUFFERS][TN];
  int stage = 0;  // offset of the stage in use, in floats
  int left = K;   // values of k not yet fetched
  const auto advance = [&](int depth) {
    a_reader.advance(depth);
    b_reader.advance(static_cast<long long>(depth) * N);
    left -= depth;
  };
  const auto fetch_tile = [&] {  // global memory to registers, if there is another tile
    if (left <= 0) return;
    a_reader.read();
    b_reader.read();
    advance(BK);
  };
  const auto publish_tile = [&] {  // registers to shared memory, for all threads to see
    a_reader.template store<kARow>(shared + stage);
    b_reader.template store<BN>(shared + stage + kATile);
    __syncthreads();
  };
  const auto load_fragments = [&](int buffer, int k) {  // shared memory to registers
    load_fragment<kPatchN, kSubtileN>(b[buffer], shared + stage + kATile + k * BN + column);
    load_fragment<kPatchM, kSubtileM>(a[buffer], shared + stage + k * kARow + row);
  };
  const auto multiply_fragments = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int step = 0; step < TN; ++step) {
        const int j = SERPENTINE && i % 2 == 1 ? TN - 1 - step : step;
        sum[i][j] += a[buffer][i] * b[buffer][j];
      }
    }
  };
  // After the last tile it publishes the same once more, which is cheaper than a branch in every round.
  const auto next_tile = [&] {
    if (PREFETCH) {
      stage = kStage - stage;
      publish_tile();
      fetch_tile();
    } else {
      fetch_tile();
      __syncthreads();  // everybody has read the only stage
      publish_tile();
    }
  };

  const int first_depth = (K - 1) % BK + 1;  // what is left over when K is cut into whole tiles
  a_reader.read_first(first_depth);
  b_reader.read_first(first_depth);
  advance(first_depth);
  publish_tile();
  if (PREFETCH) fetch_tile();
  if (FRAGMENT_BUFFERS == 2) load_fragments(0, 0);
  for (int tiles = (K - 1) / BK + 1; tiles > 0; --tiles) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (FRAGMENT_BUFFERS == 1) {
        load_fragments(0, k);
      } else {
        if (k == BK - 1) next_tile();
        load_fragments((k + 1) % 2, (k + 1) % BK);
      }
      multiply_fragments(k % FRAGMENT_BUFFERS);
    }
    if (FRAGMENT_BUFFERS == 1) next_tile();
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int c_row = tile.row + row + i / kPatchM * kSubtileM + i % kPatchM;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const int c_column = tile.column + column + j / kPatchN * kSubtileN + j % kPatchN;
      store_results<VECTORS>(C, M, N, c_row, c_column, alpha, &sum[i][j], beta);
    }
  }
}

template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int WM_ITER, int WN_ITER, int PAD_A,
          LaneMap LANE_MAP, bool PREFETCH, int FRAGMENT_BUFFERS, bool SERPENTINE, int MIN_BLOCKS,
          int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sgemm_warptile(int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
                   float beta, float* __restrict__ C) {
  if (rows_are_aligned(A, B, C, N, K)) {
    multiply<true, BM, BN, BK, WM, WN, TM, TN, WM_ITER, WN_ITER, PAD_A, LANE_MAP, PREFETCH, FRAGMENT_BUFFERS,
             SERPENTINE>(M, N, K, alpha, A, B, beta, C);
  } else {
    multiply<false, BM, BN, BK, WM, WN, TM, TN, WM_ITER, WN_ITER, PAD_A, LANE_MAP, PREFETCH, FRAGMENT_BUFFERS,
             SERPENTINE>(M, N, K, alpha, A, B, beta, C);
  }
}
