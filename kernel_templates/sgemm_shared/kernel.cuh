#include "common/gemm.cuh"

// A thread block copies a BM x BK tile of A and a BK x BN tile of B to shared memory, where each value is
// then used by BN or BM threads. Still one element of C per thread: two shared-memory reads for every
// multiply-add.
template <int BM, int BN, int BK, int THREADS = (BM * BN)>
__global__ void __launch_bounds__(THREADS)
    sgemm_shared(int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
                 float beta, float* __restrict__ C) {
  __shared__ float a_tile[BM][BK];
  __shared__ float b_tile[BK][BN];

  const TileOrigin tile = tile_origin<BM, BN>(N);
  const int row = threadIdx.x / BN;
  const int column = threadIdx.x % BN;

  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += BK) {
    copy_tile<THREADS>(a_tile, A, M, K, tile.row, k0);
    copy_tile<THREADS>(b_tile, B, K, N, k0, tile.column);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) sum += a_tile[row][k] * b_tile[k][column];
    __syncthreads();
  }
  store_result(C, M, N, tile.row + row, tile.column + column, alpha, sum, beta);
}
