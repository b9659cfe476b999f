#include "common/gemm.cuh"

// One thread computes one element of C, straight from global memory. threadIdx.x walks down a column, so the
// threads of a warp read A with a stride of K and write C with a stride of N: one memory transaction per
// thread.
template <int BM, int BN, int THREADS = (BM * BN)>
__global__ void __launch_bounds__(THREADS)
    sgemm_naive(int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
                float beta, float* __restrict__ C) {
  const TileOrigin tile = tile_origin<BM, BN>(N);
  const int row = tile.row + threadIdx.x;
  const int column = tile.column + threadIdx.y;
  if (row >= M || column >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[static_cast<long long>(row) * K + k] * B[static_cast<long long>(k) * N + column];
  }
  store_result(C, M, N, row, column, alpha, sum, beta);
}
