#include "common/gemm.cuh"

// As sgemm_naive, with the roles of threadIdx.x and threadIdx.y exchanged: the threads of a warp now share a
// row of A (one broadcast) and read and write neighbouring elements of B and C (few wide transactions).
template <int BM, int BN, int THREADS = (BM * BN)>
__global__ void __launch_bounds__(THREADS)
    sgemm_coalesced(int M, int N, int K, float alpha, const float* __restrict__ A,
                    const float* __restrict__ B, float beta, float* __restrict__ C) {
  const TileOrigin tile = tile_origin<BM, BN>(N);
  const int row = tile.row + threadIdx.y;
  const int column = tile.column + threadIdx.x;
  if (row >= M || column >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[static_cast<long long>(row) * K + k] * B[static_cast<long long>(k) * N + column];
  }
  store_result(C, M, N, row, column, alpha, sum, beta);
}
