#pragma once

#include "common/quads.cuh"

// Block tiles made of warp tiles made of thread tiles: the loop over K that its kernels share.

// Which lane of a warp sits where in the warp's grid of ROWS x COLUMNS lanes.
enum LaneMap {
  // Lanes 0, 1, 2, ... along a row.
  row_major,
  // Lanes 2i and 2i + 1 side by side in the shorter direction: half a warp reads 2 quads there and at most 16
  // in the other direction, which shared memory serves in the fewest wavefronts.
  paired,
  // Lanes 4i to 4i + 3 in four rows and four columns; for 4 x 8 and 8 x 4 lanes. Where neighbours read the
  // same quads, a load takes half the wavefronts, each of which brings registers to more lanes at once, and
  // writing these keeps multiply-adds from being issued for about four clocks, on an H200. Loads that take
  // all their wavefronts cost little more than their own issue.
  skewed
};

template <LaneMap MAP, int ROWS, int COLUMNS>
__device__ __forceinline__ int lane_row(int lane) {
  static_assert(MAP != skewed || (ROWS == 4 && COLUMNS == 8) || (ROWS == 8 && COLUMNS == 4),
                "eight lanes one way, four the other");
  if (MAP == skewed) return ROWS == 4 ? lane % 4 : (lane / 4 + lane % 4) % 8;
  if (MAP == row_major || ROWS == 1 || COLUMNS == 1) return lane / COLUMNS;
  return ROWS <= COLUMNS ? lane % 2 + lane / (2 * COLUMNS) * 2 : lane / 2 % ROWS;
}

template <LaneMap MAP, int ROWS, int COLUMNS>
__device__ __forceinline__ int lane_column(int lane) {
  if (MAP == skewed) return COLUMNS == 4 ? lane % 4 : (lane / 4 + lane % 4) % 8;
  if (MAP == row_major || ROWS == 1 || COLUMNS == 1) return lane % COLUMNS;
  return ROWS <= COLUMNS ? lane / 2 % COLUMNS : lane % 2 + lane / (2 * ROWS) * 2;
}

// The order of a step's TM x TN multiply-adds. Serpentine: every other row, or column, is walked backwards.
// Two multiply-adds in a row then share an operand at the turns too, which the register file's reuse cache
// serves without a read.
enum MultiplyOrder { plain, row_serpentine, column_serpentine };

template <MultiplyOrder ORDER, int TM, int TN>
__device__ __forceinline__ void multiply_fragments(float (&sum)[TM][TN], const float (&a)[TM],
                                                   const float (&b)[TN]) {
  if constexpr (ORDER == column_serpentine) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
#pragma unroll
      for (int step = 0; step < TM; ++step) {
        const int i = j % 2 == 1 ? TM - 1 - step : step;
        sum[i][j] += a[i] * b[j];
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int step = 0; step < TN; ++step) {
        const int j = ORDER == row_serpentine && i % 2 == 1 ? TN - 1 - step : step;
        sum[i][j] += a[i] * b[j];
      }
    }
  }
}

// A block tile BM x BN, in it warp tiles WM x WN, in these thread tiles TM x TN. A warp's elements of C form
// one compact tile, so its lanes share what they read from shared memory. A thread's tile is made of WM_ITER
// x WN_ITER patches, one in each sub-tile of the warp tile. PAD_A: floats between two rows of the transposed
// A.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int TM_, int TN_, int WM_ITER, int WN_ITER, int PAD_A,
          LaneMap LANE_MAP>
struct WarpTiling {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, TM = TM_, TN = TN_;
  static constexpr int kThreads = (BM / WM) * (BN / WN) * 32;
  static constexpr int kPatchM = TM / WM_ITER, kPatchN = TN / WN_ITER;
  static constexpr int kSubtileM = WM / WM_ITER, kSubtileN = WN / WN_ITER;
  static constexpr int kARow = BM + PAD_A;
  static constexpr int kATile = BK * kARow, kStage = kATile + BK * BN;  ///< in floats
  static_assert((WM / TM) * (WN / TN) == 32, "the lanes of a warp cover its tile");

  /// A thread's first row and column in the block tile.
  static __device__ __forceinline__ TileOrigin thread_origin(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    return {warp / (BN / WN) * WM + lane_row<LANE_MAP, WM / TM, WN / TN>(lane) * kPatchM,
            warp % (BN / WN) * WN + lane_column<LANE_MAP, WM / TM, WN / TN>(lane) * kPatchN};
  }

  /// Row and column of the thread's element (i, j), counted from its first one.
  static constexpr __device__ int row(int i) { return i / kPatchM * kSubtileM + i % kPatchM; }
  static constexpr __device__ int column(int j) { return j / kPatchN * kSubtileN + j % kPatchN; }
};

// Adds up the calling thread's part of the tile of C that starts at `tile`. `shared` has room for one stage,
// or two: each a tile of A and a tile of B. VEC: floats that global memory moves at a time, see TileReader.
//
// PREFETCH: while a tile is multiplied, the next one is on its way to registers, and it goes to a second
// stage of shared memory: one barrier per tile instead of two, and no waiting for global memory.
//
// FRAGMENT_BUFFERS == 2: the same one level down. The fragments of step k + 1 are read from shared memory
// while those of step k are multiplied, also across the barrier.
template <class Tiling, int VEC, bool PREFETCH, int FRAGMENT_BUFFERS, MultiplyOrder ORDER>
__device__ __forceinline__ void multiply_tile(float (&sum)[Tiling::TM][Tiling::TN], TileOrigin tile,
                                              float* shared, int M, int N, int K, const float* __restrict__ A,
                                              int lda, const float* __restrict__ B, int ldb) {
  using T = Tiling;
  const TileOrigin thread = T::thread_origin(threadIdx.x);
  TileReader<Operand::a, T::kThreads, T::BM, T::BK, VEC> a_reader(A, M, lda, tile.row);
  TileReader<Operand::b, T::kThreads, T::BN, T::BK, VEC> b_reader(B, N, ldb, tile.column);

  float a[FRAGMENT_BUFFERS][T::TM], b[FRAGMENT_BUFFERS][T::TN];
  int stage = 0;                    // offset of the stage in use, in floats
  int tiles = (K - 1) / T::BK + 1;  // that are not yet multiplied
  const auto advance = [&](int depth) {
    a_reader.advance(depth);
    b_reader.advance(static_cast<long long>(depth) * ldb);
  };
  const auto fetch_tile = [&](int ahead) {  // global memory to registers, if there are so many more tiles
    if (tiles <= ahead) return;
    a_reader.read();
    b_reader.read();
    advance(T::BK);
  };
  const auto publish_tile = [&] {  // registers to shared memory, for all threads to see
    a_reader.template store<T::kARow>(shared + stage);
    b_reader.template store<T::BN>(shared + stage + T::kATile);
    __syncthreads();
  };
  const auto load_fragments = [&](int buffer, int k) {  // shared memory to registers
    load_fragment<T::kPatchN, T::kSubtileN>(b[buffer],
                                            shared + stage + T::kATile + k * T::BN + thread.column);
    load_fragment<T::kPatchM, T::kSubtileM>(a[buffer], shared + stage + k * T::kARow + thread.row);
  };
  // After the last tile it publishes the same once more, which is cheaper than a branch in every round.
  const auto next_tile = [&] {
    if (PREFETCH) {
      stage = T::kStage - stage;
      publish_tile();
      fetch_tile(2);
    } else {
      fetch_tile(1);
      __syncthreads();  // everybody has read the only stage
      publish_tile();
    }
  };

  const int first_depth = (K - 1) % T::BK + 1;  // what is left over when K is cut into whole tiles
  a_reader.read_first(first_depth);
  b_reader.read_first(first_depth);
  advance(first_depth);
  publish_tile();
  if (PREFETCH) fetch_tile(1);
  if (FRAGMENT_BUFFERS == 2) load_fragments(0, 0);
  for (; tiles > 0; --tiles) {
#pragma unroll
    for (int k = 0; k < T::BK; ++k) {
      if (FRAGMENT_BUFFERS == 1) {
        load_fragments(0, k);
      } else {
        if (k == T::BK - 1) next_tile();
        load_fragments((k + 1) % 2, (k + 1) % T::BK);
      }
      multiply_fragments<ORDER>(sum, a[k % FRAGMENT_BUFFERS], b[k % FRAGMENT_BUFFERS]);
    }
    if (FRAGMENT_BUFFERS == 1) next_tile();
  }
}

// Finishes the calling thread's part of the tile of C that starts at `tile`.
template <class Tiling, int VEC>
__device__ __forceinline__ void store_tile(const float (&sum)[Tiling::TM][Tiling::TN], TileOrigin tile, int M,
                                           int N, float alpha, float beta, float* C, int ldc) {
  const TileOrigin thread = Tiling::thread_origin(thread_index());
#pragma unroll
  for (int i = 0; i < Tiling::TM; ++i) {
#pragma unroll
    for (int j = 0; j < Tiling::TN; j += 4) {
      store_results<VEC>(C, M, N, ldc, tile.row + thread.row + Tiling::row(i),
                         tile.column + thread.column + Tiling::column(j), alpha, &sum[i][j], beta);
    }
  }
}
