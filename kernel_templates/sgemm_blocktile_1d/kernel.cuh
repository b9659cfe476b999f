#include "common/gemm.cuh"

// Each thread computes a column of TM elements of C. Per step of k it keeps one value of B in a register and
// multiplies it with TM values of A, which all threads of a warp that share its rows read as a broadcast.
template <int BM, int BN, int BK, int TM, int THREADS = (BM / TM) * BN>
__global__ void __launch_bounds__(THREADS)
    sgemm_blocktile_1d(int M, int N, int K, float alpha, const float* __restrict__ A,
                       const float* __restrict__ B, float beta, float* __restrict__ C) {
  __shared__ float a_tile[BM][BK];
  __shared__ float b_tile[BK][BN];

  const TileOrigin tile = tile_origin<BM, BN>(N);
  const int row = threadIdx.x / BN * TM;
  const int column = threadIdx.x % BN;

  float sum[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    copy_tile<THREADS>(a_tile, A, M, K, tile.row, k0);
    copy_tile<THREADS>(b_tile, B, K, N, k0, tile.column);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const float b = b_tile[k][column];
#pragma unroll
      for (int i = 0; i < TM; ++i) sum[i] += a_tile[row + i][k] * b;
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    store_result(C, M, N, tile.row + row + i, tile.column + column, alpha, sum[i], beta);
  }
}
