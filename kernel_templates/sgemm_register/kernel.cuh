#include "common/gemm.cuh"

// Each thread computes 4 x 4 elements of C in registers: the 8 values it reads from shared memory per step of
// k feed 16 multiply-adds. INTERLEAVED says which 16: every (BM/4)-th row and (BN/4)-th column, so that
// neighbouring threads read neighbouring words of shared memory, or a solid 4 x 4 patch, whose words the
// compiler reads four at a time.
template <int BM, int BN, int BK, bool INTERLEAVED, int THREADS = (BM / 4) * (BN / 4)>
__global__ void __launch_bounds__(THREADS)
    sgemm_register(int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
                   float beta, float* __restrict__ C) {
  constexpr int kThreadsM = BM / 4;
  constexpr int kThreadsN = BN / 4;
  constexpr int kStrideM = INTERLEAVED ? kThreadsM : 1;
  constexpr int kStrideN = INTERLEAVED ? kThreadsN : 1;
  __shared__ float a_tile[BM][BK];
  __shared__ float b_tile[BK][BN];

  const TileOrigin tile = tile_origin<BM, BN>(N);
  const int row = threadIdx.x / kThreadsN * (INTERLEAVED ? 1 : 4);
  const int column = threadIdx.x % kThreadsN * (INTERLEAVED ? 1 : 4);

  float sum[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    copy_tile<THREADS>(a_tile, A, M, K, tile.row, k0);
    copy_tile<THREADS>(b_tile, B, K, N, k0, tile.column);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          sum[i][j] += a_tile[row + i * kStrideM][k] * b_tile[k][column + j * kStrideN];
        }
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      store_result(C, M, N, tile.row + row + i * kStrideM, tile.column + column + j * kStrideN, alpha,
                   sum[i][j], beta);
    }
  }
}
