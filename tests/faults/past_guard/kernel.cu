// A guard band has 64 KiB.
__device__ float product(const float* A, const float* B, int N, int K, int row, int column) {
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  return sum;
}

extern "C" __global__ void past_guard(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * ROWS + threadIdx.y;
  const int column = blockIdx.x * 32 + threadIdx.x;
  if (row >= M || column >= N) return;
  const int at = row * N + column;
  C[at] = product(A, B, N, K, row, column);
  if (at == 0) C[(long long)M * N + (65536 + 256 + 64) / 4] = 1.0f;
}
