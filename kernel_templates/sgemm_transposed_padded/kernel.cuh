#include "common/gemm.cuh"

// As sgemm_blocktile_2d, with the tile of A turned on its side in shared memory: the TM values a thread needs
// per step of k are then neighbours, which the compiler reads four at a time.
//
// The price is paid on writing: neighbouring threads write down a column, BM + PAD floats apart. Without
// padding, BK of them meet in one bank. PAD == 1 spreads them over all banks but breaks the 16-byte alignment
// of the reads; PAD == 4 serves both.
template <int BM, int BN, int BK, int TM, int TN, int PAD, int THREADS = (BM / TM) * (BN / TN)>
__global__ void __launch_bounds__(THREADS)
    sgemm_transposed_padded(int M, int N, int K, float alpha, const float* __restrict__ A,
                            const float* __restrict__ B, float beta, float* __restrict__ C) {
  __shared__ __align__(16) float a_tile[BK][BM + PAD];
  __shared__ __align__(16) float b_tile[BK][BN];

  const TileOrigin tile = tile_origin<BM, BN>(N);
  const int row = threadIdx.x / (BN / TN) * TM;
  const int column = threadIdx.x % (BN / TN) * TN;

  float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
#pragma unroll
    for (int i = 0; i < BM * BK / THREADS; ++i) {
      const int element = threadIdx.x + i * THREADS;
      const int m = element / BK;
      const int k = element % BK;
      a_tile[k][m] = load_or_zero(A, M, K, tile.row + m, k0 + k);
    }
    copy_tile<THREADS>(b_tile, B, K, N, k0, tile.column);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) a[i] = a_tile[k][row + i];
#pragma unroll
      for (int j = 0; j < TN; ++j) b[j] = b_tile[k][column + j];
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      store_result(C, M, N, tile.row + row + i, tile.column + column + j, alpha, sum[i][j], beta);
    }
  }
}
