#include "common/gemm.cuh"

// Each thread computes TM x TN elements of C as an outer product: per step of k it reads TM values of A and
// TN values of B into registers and uses each TN or TM times. Reads grow with TM + TN, work with TM * TN.
template <int BM, int BN, int BK, int TM, int TN, int THREADS = (BM / TM) * (BN / TN)>
__global__ void __launch_bounds__(THREADS)
    sgemm_blocktile_2d(int M, int N, int K, float alpha, const float* __restrict__ A,
                       const float* __restrict__ B, float beta, float* __restrict__ C) {
  __shared__ float a_tile[BM][BK];
  __shared__ float b_tile[BK][BN];

  const TileOrigin tile = tile_origin<BM, BN>(N);
  const int row = threadIdx.x / (BN / TN) * TM;
  const int column = threadIdx.x % (BN / TN) * TN;

  float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    copy_tile<THREADS>(a_tile, A, M, K, tile.row, k0);
    copy_tile<THREADS>(b_tile, B, K, N, k0, tile.column);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) a[i] = a_tile[row + i][k];
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
