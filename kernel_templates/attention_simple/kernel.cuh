#include "common/mma.cuh"
#include "common/quads.cuh"

// softmax(Q K^T * scale) V for BLOCK_M queries of one head with the online softmax of FlashAttention, in FP32
// throughout. The block brings BLOCK_N keys and values at a time to shared memory as floats. LANES
// neighbouring threads share TM queries: each computes the scores of every LANES-th key, they agree on the
// maximum by shuffles, exchange the weights through shared memory, and each adds up its own columns of the
// output. Rows of queries, keys and weights are 4 floats longer than needed, so that threads side by side
// read different banks.

/// Copies ROWS rows of the matrix from row `first` on to floats in shared memory, rows PITCH apart; those
/// past the last token become zero.
template <int THREADS, int ROWS, int HEAD, int PITCH, class T>
__device__ __forceinline__ void read_rows(float* tile, const T* matrix, int first, int tokens) {
  constexpr int kChunks = HEAD / 8;
  for (int i = threadIdx.x; i < ROWS * kChunks; i += THREADS) {
    const int row = i / kChunks, column = i % kChunks * 8;
    uint4 words = make_uint4(0, 0, 0, 0);
    if (first + row < tokens)
      words = *reinterpret_cast<const uint4*>(matrix + static_cast<long long>(first + row) * HEAD + column);
    const float2 a = unpack<T>(words.x), b = unpack<T>(words.y), c = unpack<T>(words.z),
                 d = unpack<T>(words.w);
    store_quad(tile + row * PITCH + column, make_float4(a.x, a.y, b.x, b.y));
    store_quad(tile + row * PITCH + column + 4, make_float4(c.x, c.y, d.x, d.y));
  }
}

template <class T, int HEAD, bool CAUSAL, int BLOCK_M, int BLOCK_N, int TM, int LANES, int MIN_BLOCKS,
          int THREADS = BLOCK_M / TM* LANES>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    attention_simple(int tokens, float scale, const T* __restrict__ Q, const T* __restrict__ K,
                     const T* __restrict__ V, T* __restrict__ O) {
  constexpr int kKeys = BLOCK_N / LANES;    // of a thread
  constexpr int kQuads = HEAD / LANES / 4;  // of a thread's columns of the output
  constexpr int kRow = HEAD + 4, kWeightRow = BLOCK_N + 4;
  extern __shared__ __align__(16) float shared[];
  float* const queries = shared;
  float* const keys = queries + BLOCK_M * kRow;
  float* const values = keys + BLOCK_N * kRow;
  float* const weights = values + BLOCK_N * HEAD;

  const int query_tiles = (tokens - 1) / BLOCK_M + 1;
  const long long head_start = static_cast<long long>(blockIdx.x / query_tiles) * tokens * HEAD;
  const int turn = blockIdx.x % query_tiles;  // the longest rows of blocks start first
  const int first_query = (CAUSAL ? query_tiles - 1 - turn : turn) * BLOCK_M;
  const int end = CAUSAL ? min(tokens, first_query + BLOCK_M) : tokens;  // of the keys
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES * TM;

  read_rows<THREADS, BLOCK_M, HEAD, kRow>(queries, Q + head_start, first_query, tokens);
  float maximum[TM], sum[TM], output[TM][kQuads][4] = {};
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    maximum[i] = -INFINITY;
    sum[i] = 0.0f;
  }

  for (int first_key = 0; first_key < end; first_key += BLOCK_N) {
    __syncthreads();  // everybody has done with the tiles before
    read_rows<THREADS, BLOCK_N, HEAD, kRow>(keys, K + head_start, first_key, tokens);
    read_rows<THREADS, BLOCK_N, HEAD, HEAD>(values, V + head_start, first_key, tokens);
    __syncthreads();

    float score[TM][kKeys] = {};
#pragma unroll 4
    for (int column = 0; column < HEAD; column += 4) {
      float4 q[TM];
#pragma unroll
      for (int i = 0; i < TM; ++i) q[i] = load_quad(queries + (row + i) * kRow + column);
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        const float4 k = load_quad(keys + (lane + j * LANES) * kRow + column);
#pragma unroll
        for (int i = 0; i < TM; ++i) score[i][j] += q[i].x * k.x + q[i].y * k.y + q[i].z * k.z + q[i].w * k.w;
      }
    }

#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const int last = CAUSAL ? min(first_query + row + i, tokens - 1) : tokens - 1;  // key that it sees
      const float before = maximum[i];
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        score[i][j] = first_key + lane + j * LANES <= last ? score[i][j] * scale : -INFINITY;
        maximum[i] = fmaxf(maximum[i], score[i][j]);
      }
#pragma unroll
      for (int mask = LANES / 2; mask > 0; mask /= 2)
        maximum[i] = fmaxf(maximum[i], __shfl_xor_sync(0xffffffffu, maximum[i], mask));
      // Finite from the first tile on: every query sees key 0.
      const float rescale = __expf(before - maximum[i]);
      sum[i] *= rescale;
#pragma unroll
      for (int n = 0; n < kQuads; ++n) {
#pragma unroll
        for (int c = 0; c < 4; ++c) output[i][n][c] *= rescale;
      }
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        const float weight = __expf(score[i][j] - maximum[i]);
        sum[i] += weight;
        weights[(row + i) * kWeightRow + lane + j * LANES] = weight;
      }
    }
    __syncwarp();  // the threads of a query are in one warp

#pragma unroll 2
    for (int key = 0; key < BLOCK_N; key += 4) {
      float weight[TM][4];
#pragma unroll
      for (int i = 0; i < TM; ++i) load_vector<4>(weight[i], weights + (row + i) * kWeightRow + key);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
#pragma unroll
        for (int n = 0; n < kQuads; ++n) {
          float value[4];
          load_vector<4>(value, values + (key + k) * HEAD + (n * LANES + lane) * 4);
#pragma unroll
          for (int i = 0; i < TM; ++i) {
#pragma unroll
            for (int c = 0; c < 4; ++c) output[i][n][c] += weight[i][k] * value[c];
          }
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int mask = LANES / 2; mask > 0; mask /= 2) sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], mask);
    const int query = first_query + row + i;
    const float factor = 1.0f / sum[i];
#pragma unroll
    for (int n = 0; n < kQuads && query < tokens; ++n) {
      const float(&result)[4] = output[i][n];
      *reinterpret_cast<uint2*>(O + head_start + static_cast<long long>(query) * HEAD +
                                (n * LANES + lane) * 4) =
          make_uint2(pack<T>(result[0] * factor, result[1] * factor),
                     pack<T>(result[2] * factor, result[3] * factor));
    }
  }
}
