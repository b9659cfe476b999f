#include "common/gemm.cuh"

// One tile of C per block, for every matrix of a batch: blockIdx.z is the matrix. Tiles of A and B go through
// shared memory; a thread computes TM elements of a column of C, so that each value of B that it reads serves
// TM multiply-adds. Neighbouring threads have neighbouring columns, hence read the same value of A.
template <int BM, int BN, int BK, int TM, int THREADS = (BM / TM) * BN>
__global__ void __launch_bounds__(THREADS)
    batched_gemm_shared(int M, int N, int K, float alpha, const float* __restrict__ A,
                        const float* __restrict__ B, float beta, float* __restrict__ C) {
  __shared__ float a_tile[BM][BK];
  __shared__ float b_tile[BK][BN];
  const long long matrix = blockIdx.z;
  A += matrix * M * K;
  B += matrix * K * N;
  C += matrix * M * N;

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
  for (int i = 0; i < TM; ++i)
    store_result(C, M, N, tile.row + row + i, tile.column + column, alpha, sum[i], beta);
}
