#include "common/async_copy.cuh"
#include "common/mma.cuh"

// softmax(Q K^T * scale) V for BLOCK_M queries of one head, the way of FlashAttention-2 (Dao, 2023). Every
// warp owns 16 or 32 queries. It multiplies them with BLOCK_N keys at a time, exponentiates the scores in
// registers against a maximum that it keeps, and multiplies these weights, which already lie as the operand
// of mma.sync, with as many values; what was summed up is rescaled when the maximum grows. Tiles of K and V
// follow each other through a ring of STAGES tiles in shared memory that asynchronous copies fill. Chunk c of
// 16 bytes of row r lies at c ^ (r % 8), so that the 8 rows that one ldmatrix reads lie in different banks.
// Tiles above the diagonal are skipped, and the longest rows of blocks start first.

/// What neighbouring thread blocks differ in.
enum BlockOrder { heads_first, queries_first };

/// 2^x; 0 for -infinity.
__device__ __forceinline__ float exponential(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// Starts copying ROWS rows of the matrix from row `first` on; those past the last token become zero.
template <int THREADS, int ROWS, int HEAD, class T>
__device__ __forceinline__ void copy_rows(unsigned tile, const T* matrix, int first, int tokens) {
  constexpr int kChunks = HEAD / 8, kStep = THREADS / kChunks;
  static_assert(ROWS % kStep == 0, "the threads cover the tile exactly");
  const int own_row = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks;
  const T* from = matrix + static_cast<long long>(first + own_row) * HEAD + chunk * 8;
#pragma unroll
  for (int i = 0; i < ROWS; i += kStep) {
    const int row = own_row + i;
    copy_async_first<16>(tile + row * HEAD * 2 + (chunk ^ row % 8) * 16,
                         from + i * HEAD, first + row < tokens ? 16 : 0);
  }
}

template <class T, int HEAD, bool CAUSAL, int BLOCK_M, int BLOCK_N, int WARPS, int STAGES,
          bool Q_IN_REGISTERS, bool LAZY_RESCALE, BlockOrder ORDER, int MIN_BLOCKS>
__global__ void __launch_bounds__(WARPS * 32, MIN_BLOCKS)
    attention_mma(int heads, int tokens, float scale, const T* __restrict__ Q, const T* __restrict__ K,
                  const T* __restrict__ V, T* __restrict__ O) {
  constexpr int kThreads = WARPS * 32;
  constexpr int kRows = BLOCK_M / WARPS;      // queries of a warp
  constexpr int kM = kRows / 16;              // fragments of 16 queries
  constexpr int kKeys = BLOCK_N / 8;          // fragments of 8 keys
  constexpr int kColumns = HEAD / 8;          // fragments of 8 columns of the output
  constexpr int kRow = HEAD * 2;              // bytes
  constexpr unsigned kTile = BLOCK_N * kRow;  // bytes
  constexpr float kLog2E = 1.4426950408889634f;
  constexpr float kLargestGrowth =
      LAZY_RESCALE ? 8.0f : 0.0f;  // of the maximum's logarithm, not yet rescaled
  extern __shared__ __align__(1024) unsigned char shared[];

  const int query_tiles = (tokens - 1) / BLOCK_M + 1;
  const int block = blockIdx.x;
  const int head = ORDER == heads_first ? block % heads : block / query_tiles;
  const int turn = ORDER == heads_first ? block / heads : block % query_tiles;
  const int first_query = (CAUSAL ? query_tiles - 1 - turn : turn) * BLOCK_M;
  const int tiles = ((CAUSAL ? min(tokens, first_query + BLOCK_M) : tokens) - 1) / BLOCK_N + 1;
  const long long head_start = static_cast<long long>(head) * tokens * HEAD;
  Q += head_start;
  K += head_start;
  V += head_start;
  O += head_start;

  const unsigned q_tile = shared_address(shared);
  const unsigned ring = q_tile + BLOCK_M * kRow;
  const auto next = [&](unsigned tile) {
    return tile + kTile == ring + STAGES * kTile ? ring : tile + kTile;
  };
  unsigned filled = ring;  // tile that is filled next
  unsigned used = ring;    // tile that is used next
  const auto fetch = [&](const T* matrix, int tile) {
    if (tile < tiles) copy_rows<kThreads, BLOCK_N, HEAD>(filled, matrix, tile * BLOCK_N, tokens);
    commit_copies();
    filled = next(filled);
  };
  // Waits for the tile at `used`. Everybody has then done with the tile before, which is filled again.
  const auto wait_and_fetch = [&](const T* matrix, int tile) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    fetch(matrix, tile);
  };

  copy_rows<kThreads, BLOCK_M, HEAD>(q_tile, Q, first_query, tokens);
  commit_copies();
#pragma unroll
  for (int i = 0; i < STAGES - 1; ++i) fetch(i % 2 == 0 ? K : V, i / 2);

  // Where the lane's row of the first four matrices lies in its tile; chunk c + 2k is at that place XOR k
  // * 32.
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int low = lane / 8 % 2, high = lane / 16, row8 = lane % 8;
  unsigned q_address = q_tile + (warp * kRows + low * 8 + row8) * kRow + (high ^ row8) * 16;
  const unsigned k_lane = (high * 8 + row8) * kRow + (low ^ row8) * 16;
  const unsigned v_lane = (low * 8 + row8) * kRow + (high ^ row8) * 16;
  const int warp_query = first_query + warp * kRows;  // the warp's first
  const int own_query = warp_query + lane / 4;        // the lane's first; the others are 8, 16, 24 below
  const int own_key = lane % 4 * 2;                   // the lane's first and the next, of every 8

  unsigned q[Q_IN_REGISTERS ? HEAD / 16 : 1][kM][4];
  const auto load_queries = [&](unsigned(&fragments)[kM][4], int k) {
#pragma unroll
    for (int m = 0; m < kM; ++m) load_matrices(fragments[m], (q_address ^ k * 32) + m * 16 * kRow);
  };
  if constexpr (Q_IN_REGISTERS) {
    wait_for_copies<STAGES - 1>();
    __syncthreads();
#pragma unroll
    for (int k = 0; k < HEAD / 16; ++k) load_queries(q[k], k);
  }

  const float to_exponent = scale * kLog2E;
  float maximum[kM][2], sum[kM][2] = {}, output[kM][kColumns][4] = {};
#pragma unroll
  for (int m = 0; m < kM; ++m) maximum[m][0] = maximum[m][1] = -INFINITY;

  for (int tile = 0; tile < tiles; ++tile) {
    const int first_key = tile * BLOCK_N;
    asm volatile("" : "+r"(q_address));  // the XORs are repeated for every tile instead of kept in registers
    const bool visible = !CAUSAL || first_key < warp_query + kRows;  // to any query of the warp

    wait_and_fetch((STAGES - 1) % 2 == 0 ? K : V, tile + (STAGES - 1) / 2);
    float score[kM][kKeys][4] = {};
    if (visible) {
#pragma unroll
      for (int k = 0; k < HEAD / 16; ++k) {
        if constexpr (!Q_IN_REGISTERS) load_queries(q[0], k);
#pragma unroll
        for (int n = 0; n < kKeys; n += 2) {
          unsigned keys[4];
          load_matrices(keys, (used + k_lane ^ k * 32) + n * 8 * kRow);
#pragma unroll
          for (int m = 0; m < kM; ++m) {
            multiply_matrices<T>(score[m][n], q[Q_IN_REGISTERS ? k : 0][m], keys[0], keys[1]);
            multiply_matrices<T>(score[m][n + 1], q[Q_IN_REGISTERS ? k : 0][m], keys[2], keys[3]);
          }
        }
      }
    }
    used = next(used);

    wait_and_fetch(STAGES % 2 == 0 ? K : V, tile + STAGES / 2);
    if (visible) {
      if (first_key + BLOCK_N > tokens || (CAUSAL && first_key + BLOCK_N > warp_query + 1)) {
#pragma unroll
        for (int m = 0; m < kM; ++m) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int query = own_query + m * 16 + i / 2 * 8;
            const int last = (CAUSAL ? min(query, tokens - 1) : tokens - 1) - first_key - own_key - i % 2;
#pragma unroll
            for (int n = 0; n < kKeys; ++n) {
              if (n * 8 > last) score[m][n][i] = -INFINITY;
            }
          }
        }
      }

      // The first tile makes the maximum finite, since every query sees key 0.
      float rescale[kM][2];
      bool grows = false;
#pragma unroll
      for (int m = 0; m < kM; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float largest = fmaxf(score[m][0][half * 2], score[m][0][half * 2 + 1]);
#pragma unroll
          for (int n = 1; n < kKeys; ++n)
            largest = fmaxf(largest, fmaxf(score[m][n][half * 2], score[m][n][half * 2 + 1]));
          largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
          largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
          const float before = maximum[m][half];
          if ((largest - before) * to_exponent > kLargestGrowth) {
            maximum[m][half] = largest;
            grows = true;
          }
          rescale[m][half] = exponential((before - maximum[m][half]) * to_exponent);
        }
      }
      if (__any_sync(0xffffffffu, grows)) {
#pragma unroll
        for (int m = 0; m < kM; ++m) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int n = 0; n < kColumns; ++n) output[m][n][i] *= rescale[m][i / 2];
          }
          sum[m][0] *= rescale[m][0];
          sum[m][1] *= rescale[m][1];
        }
      }

      unsigned weight[kM][kKeys][2];
#pragma unroll
      for (int m = 0; m < kM; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float origin = maximum[m][half] * to_exponent;
#pragma unroll
          for (int n = 0; n < kKeys; ++n) {
            const float first = exponential(score[m][n][half * 2] * to_exponent - origin);
            const float second = exponential(score[m][n][half * 2 + 1] * to_exponent - origin);
            sum[m][half] += first + second;
            weight[m][n][half] = pack<T>(first, second);
          }
        }
      }
#pragma unroll
      for (int k = 0; k < kKeys; k += 2) {
#pragma unroll
        for (int n = 0; n < kColumns; n += 2) {
          unsigned values[4];
          load_transposed_matrices(values, (used + v_lane ^ n * 16) + k * 8 * kRow);
#pragma unroll
          for (int m = 0; m < kM; ++m) {
            const unsigned weights[4] = {weight[m][k][0], weight[m][k][1], weight[m][k + 1][0],
                                         weight[m][k + 1][1]};
            multiply_matrices<T>(output[m][n], weights, values[0], values[1]);
            multiply_matrices<T>(output[m][n + 1], weights, values[2], values[3]);
          }
        }
      }
    }
    used = next(used);
  }

  // Through the warp's own part of the tile of Q, for stores of 16 bytes.
  unsigned char* const own_rows = shared + warp * kRows * kRow;
  __syncwarp();
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float total = sum[m][half];
      total += __shfl_xor_sync(0xffffffffu, total, 1);
      total += __shfl_xor_sync(0xffffffffu, total, 2);
      const float factor = 1.0f / total;
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
        const int row = m * 16 + half * 8 + lane / 4;
        *reinterpret_cast<unsigned*>(own_rows + row * kRow + (n ^ row % 8) * 16 + own_key * 2) =
            pack<T>(output[m][n][half * 2] * factor, output[m][n][half * 2 + 1] * factor);
      }
    }
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kRows * kColumns / 32; ++i) {
    const int row = (i * 32 + lane) / kColumns, chunk = (i * 32 + lane) % kColumns;
    if (warp_query + row < tokens) {
      *reinterpret_cast<uint4*>(O + static_cast<long long>(warp_query + row) * HEAD + chunk * 8) =
          *reinterpret_cast<const uint4*>(own_rows + row * kRow + (chunk ^ row % 8) * 16);
    }
  }
}
