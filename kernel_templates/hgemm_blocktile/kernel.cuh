#include "common/halves.cuh"
#include "common/warp_product.cuh"

// One thread's share of turning a tile of A, BM x BK in global memory, into BK rows of BM + PAD halves in
// shared memory. A thread takes VEC halves of two rows and packs those of the same k: one 4-byte store for
// two halves. LANES neighbouring threads share a row: more of them read longer pieces of it, fewer meet in
// fewer banks when they write down the columns.
template <int THREADS, int BM, int BK, int LANES, int VEC, int PAD>
struct PairReader {
  static constexpr int kDown =
      THREADS / LANES < BM / 2 ? THREADS / LANES : BM / 2;            ///< pairs of rows at a time
  static constexpr int kStep = THREADS / kDown * VEC;                 ///< values of k at a time
  static constexpr int kPairs = BM / 2 / kDown, kCount = BK / kStep;  ///< of a thread
  static_assert(kPairs * kDown * 2 == BM && kCount * kStep == BK, "threads cover the tile exactly");

  const __half* address[kPairs][2];
  int pair, first_k;
  unsigned words[kPairs][kCount][2][kWords<VEC>];

  __device__ __forceinline__ PairReader(const __half* A, int M, int lda, int first_row)
      : pair(threadIdx.x / LANES % kDown),
        first_k((threadIdx.x % LANES + threadIdx.x / (LANES * kDown) * LANES) * VEC) {
#pragma unroll
    for (int i = 0; i < 2 * kPairs; ++i) {
      const int row = min(first_row + 2 * (pair + i / 2 * kDown) + i % 2, M - 1);
      address[i / 2][i % 2] = A + static_cast<long long>(row) * lda + first_k;
    }
  }

  /// Reads the next tile and goes on by its depth. Unless it is WHOLE, what is missing from BK is zero.
  template <bool WHOLE>
  __device__ __forceinline__ void read(int depth) {
#pragma unroll
    for (int i = 0; i < 2 * kPairs; ++i) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        const __half* vector = address[i / 2][i % 2] + j * kStep;
        load_halves_if<VEC>(words[i / 2][j][i % 2], vector, WHOLE || first_k + j * kStep < depth);
      }
      address[i / 2][i % 2] += depth;
    }
  }

  __device__ __forceinline__ void store(__half* tile) const {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
#pragma unroll
      for (int j = 0; j < kCount * VEC; ++j) {
        const auto& rows = words[i][j / VEC];
        const int word = j % VEC / 2;
        const unsigned halves = j % 2 == 0 || VEC == 1 ? 0x5410 : 0x7632;  // the low ones, or the high ones
        const unsigned packed[1] = {__byte_perm(rows[0][word], rows[1][word], halves)};
        const int k = first_k + j / VEC * kStep + j % VEC;
        store_halves<2>(tile + k * (BM + PAD) + 2 * (pair + i * kDown), packed);
      }
    }
  }
};

// One thread's share of copying a tile of B, BK rows of BN halves. It walks down the tile, and stands at the
// next one then.
template <int THREADS, int BN, int BK, int VEC, int PAD>
struct RowReader {
  static constexpr int kPerRow = BN / VEC;
  static constexpr int kRowStep = THREADS / kPerRow;
  static constexpr int kCount = BK / kRowStep;
  static_assert(kRowStep * kPerRow == THREADS && kCount * kRowStep == BK, "threads cover the tile exactly");

  const __half* address;
  long long step;  ///< between two vectors of the thread
  int pitch, row, column;
  unsigned words[kCount][kWords<VEC>];

  __device__ __forceinline__ RowReader(const __half* B, int N, int ldb, int first_column)
      : step(static_cast<long long>(kRowStep) * ldb),
        pitch(ldb),
        row(threadIdx.x / kPerRow),
        column(threadIdx.x % kPerRow * VEC) {
    address = B + static_cast<long long>(row) * ldb + min(first_column + column, N - VEC);
  }

  template <bool WHOLE>
  __device__ __forceinline__ void read(int depth) {
    const __half* vector = address;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      load_halves_if<VEC>(words[i], vector, WHOLE || row + i * kRowStep < depth);
      vector += step;
    }
    address += static_cast<long long>(depth) * pitch;
  }

  __device__ __forceinline__ void store(__half* tile) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      store_halves<VEC>(tile + (row + i * kRowStep) * (BN + PAD) + column, words[i]);
  }
};

// Halves in memory, floats in registers: half the bytes of an SGEMM to move, the same multiply-adds, and a
// conversion for every value that a thread reads from shared memory, TM + TN of them to TM x TN
// multiply-adds. Deep tiles (BK = 64) make up for a single stage of shared memory: few barriers, and the next
// tile is on its way to registers meanwhile.
//
// Widths, in halves: LOAD_VEC of reads from global memory, FRAGMENT_VEC of reads from shared memory,
// STORE_VEC of writes to C; 4 is a float2, 8 a float4. Rows of A and B (of C) must start on boundaries of
// LOAD_VEC (STORE_VEC) halves and consist of whole vectors.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int PAD_A, int PAD_B, int A_LANES,
          int LOAD_VEC, int FRAGMENT_VEC, int STORE_VEC, int UNROLL_K, int MIN_BLOCKS,
          int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    hgemm_blocktile(int M, int N, int K, float alpha, const __half* __restrict__ A, int lda,
                    const __half* __restrict__ B, int ldb, float beta, __half* __restrict__ C, int ldc) {
  using Tiling =
      WarpTiling<BM, BN, BK, WM, WN, TM, TN, TM / FRAGMENT_VEC, TN / FRAGMENT_VEC, PAD_A, LaneMap::paired>;
  __shared__ __align__(16) __half a_tile[BK * (BM + PAD_A)];
  __shared__ __align__(16) __half b_tile[BK * (BN + PAD_B)];

  const TileOrigin tile = tile_origin<BM, BN>(N);
  const TileOrigin fragments = Tiling::thread_origin(threadIdx.x);
  PairReader<THREADS, BM, BK, A_LANES, LOAD_VEC, PAD_A> a_reader(A, M, lda, tile.row);
  RowReader<THREADS, BN, BK, LOAD_VEC, PAD_B> b_reader(B, N, ldb, tile.column);

  float sum[TM][TN] = {};
  const int first_depth = (K - 1) % BK + 1;  // what is left over when K is cut into whole tiles
  a_reader.template read<false>(first_depth);
  b_reader.template read<false>(first_depth);
  for (int tiles = (K - 1) / BK + 1; tiles > 0; --tiles) {
    a_reader.store(a_tile);
    b_reader.store(b_tile);
    __syncthreads();
    if (tiles > 1) {
      a_reader.template read<true>(BK);
      b_reader.template read<true>(BK);
    }
#pragma unroll UNROLL_K
    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
      load_half_fragment<FRAGMENT_VEC, Tiling::kSubtileM>(a, a_tile + k * (BM + PAD_A) + fragments.row);
      load_half_fragment<FRAGMENT_VEC, Tiling::kSubtileN>(b, b_tile + k * (BN + PAD_B) + fragments.column);
      multiply_fragments<row_serpentine>(sum, a, b);
    }
    __syncthreads();  // everybody has done with the tiles
  }

  const TileOrigin c_tile = tile_origin<BM, BN>(N, block_index()),
                   thread = Tiling::thread_origin(thread_index());
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = c_tile.row + thread.row + Tiling::row(i);
    if (row >= M) continue;
#pragma unroll
    for (int j = 0; j < TN; j += STORE_VEC) {
      const int column = c_tile.column + thread.column + Tiling::column(j);
      if (column >= N) continue;
      store_half_results<STORE_VEC>(C + static_cast<long long>(row) * ldc + column, alpha, &sum[i][j], beta);
    }
  }
}
