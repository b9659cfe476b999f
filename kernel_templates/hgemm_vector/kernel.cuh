#include "common/epilogue.cuh"
#include "common/reduce.cuh"
#include "common/vectors.cuh"

// C = A * B with B stored N x K (nt), for the few rows that decoding one token has: at most ROWS. Every
// element of B is used once for each, too seldom for tensor cores to matter: the kernel is as fast as it
// reads B. So B goes straight from global memory to registers, UNROLL vectors of COLUMNS lines in flight per
// thread, and leaves the L2 cache first (STREAMED). The threads of a block split K; A comes from the caches,
// and is loaded once for COLUMNS lines.
//
// Vectors are as wide as the leading dimensions allow. The K % VEC elements behind the last one are read one
// by one: beside the matrices there may be NaN.
template <int VALUE>
struct Count {
  static constexpr int kValue = VALUE;
};

template <class T, class Out, Epilogue EPILOGUE, int ROWS, int COLUMNS, int THREADS, int VEC, int UNROLL,
          bool STREAMED>
__global__ void __launch_bounds__(THREADS)
    hgemm_vector(int M, int N, int K, float alpha, const T* __restrict__ A, int lda, const T* __restrict__ B,
                 int ldb, float beta, Out* C, int ldc, const Out* __restrict__ bias_vector) {
  const int column = blockIdx.x * COLUMNS;
  const T* line[COLUMNS];
#pragma unroll
  for (int c = 0; c < COLUMNS; ++c)  // beyond B the last line again; its sums are not stored
    line[c] = B + static_cast<long long>(min(column + c, N - 1)) * ldb;
  const T* row[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r)  // beyond A likewise
    row[r] = A + static_cast<long long>(min(r, M - 1)) * lda;

  float sum[ROWS][COLUMNS] = {};
  const auto multiply = [&](const auto(&b)[COLUMNS], int k) {
    constexpr int kCount = sizeof(b[0]) / sizeof(T);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const auto a = load_vector<kCount, false>(row[r] + k);
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) sum[r][c] += to_float(a.at[i]) * to_float(b[c].at[i]);
      }
    }
  };
  const auto multiply_vectors = [&](auto count, int vector) {
    constexpr int kCount = decltype(count)::kValue;
    Vector<T, VEC> b[kCount][COLUMNS];
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c)
        b[u][c] = load_vector<VEC, STREAMED>(line[c] + (vector + u * THREADS) * VEC);
    }
#pragma unroll
    for (int u = 0; u < kCount; ++u) multiply(b[u], (vector + u * THREADS) * VEC);
  };
  const int vectors = K / VEC;
  int vector = threadIdx.x;
  for (; vector + (UNROLL - 1) * THREADS < vectors; vector += UNROLL * THREADS)
    multiply_vectors(Count<UNROLL>{}, vector);
  for (; vector < vectors; vector += THREADS) multiply_vectors(Count<1>{}, vector);
  if (const int k = vectors * VEC + threadIdx.x; k < K) {
    Vector<T, 1> b[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) b[c] = load_vector<1, STREAMED>(line[c] + k);
    multiply(b, k);
  }

  // The sums of a warp, then those of its warps, always in the same order.
  __shared__ float of_warp[THREADS / 32][ROWS * COLUMNS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      const float part = reduce_lanes<32>(sum[r][c], [](float a, float b) { return a + b; });
      if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32][r * COLUMNS + c] = part;
    }
  }
  __syncthreads();
  const Finish<EPILOGUE, Out, float> finish{alpha, beta, bias_vector, C, M, N, ldc};
  static_assert(ROWS * COLUMNS <= THREADS, "a thread for each");
  if (const int i = threadIdx.x; i < ROWS * COLUMNS) {
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < THREADS / 32; ++w) total += of_warp[w][i];
    finish.store_element(i / COLUMNS, column + i % COLUMNS, total);
  }
}
