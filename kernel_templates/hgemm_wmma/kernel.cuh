#include <mma.h>

#include "common/epilogue.cuh"
#include "common/operand_tile.cuh"

template <bool FIRST, class A, class B>
struct Choose {
  using Type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
  using Type = B;
};

// Tensor cores by CUDA's own C++ interface: a warp computes 16 x 16 elements of C from fragments that it reads
// straight from global memory. Every fragment is read again by each warp that needs it, so the caches decide.
template <class T, class Out, Layout LAYOUT, Epilogue EPILOGUE, int WARPS_M, int WARPS_N>
__global__ void __launch_bounds__(WARPS_M* WARPS_N * 32)
    hgemm_wmma(int M, int N, int K, float alpha, const T* __restrict__ A, int lda, const T* __restrict__ B, int ldb,
               float beta, Out* C, int ldc, const Out* __restrict__ bias_vector) {
  namespace wmma = nvcuda::wmma;
  constexpr bool kATransposed = LAYOUT == tn || LAYOUT == tt, kBTransposed = LAYOUT == nt || LAYOUT == tt;
  using ALayout = typename Choose<kATransposed, wmma::col_major, wmma::row_major>::Type;
  using BLayout = typename Choose<kBTransposed, wmma::col_major, wmma::row_major>::Type;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int blocks_n = (N - 1) / (WARPS_N * 16) + 1;
  const int row = (blockIdx.x / blocks_n * WARPS_M + warp / WARPS_N) * 16;
  const int column = (blockIdx.x % blocks_n * WARPS_N + warp % WARPS_N) * 16;
  if (row >= M || column >= N) return;

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < K; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, ALayout> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, BLayout> b;
    const long long a_row = kATransposed ? k : row, a_column = kATransposed ? row : k;
    const long long b_row = kBTransposed ? column : k, b_column = kBTransposed ? k : column;
    wmma::load_matrix_sync(a, A + a_row * lda + a_column, lda);
    wmma::load_matrix_sync(b, B + b_row * ldb + b_column, ldb);
    wmma::mma_sync(sum, a, b, sum);
  }

  // Where an element of a fragment lies is the library's secret, so sums go through shared memory.
  __shared__ float tiles[WARPS_M * WARPS_N][16][16];
  wmma::store_matrix_sync(&tiles[warp][0][0], sum, 16, wmma::mem_row_major);
  __syncwarp();
  const Finish<EPILOGUE, Out, float> finish{alpha, beta, bias_vector, C, M, N, ldc};
  for (int i = lane; i < 128; i += 32) {
    const float* two = &tiles[warp][i / 8][i % 8 * 2];
    finish.template store<false>(row + i / 8, column + i % 8 * 2, two[0], two[1]);
  }
}
