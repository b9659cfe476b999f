extern "C" __global__ void drops_tail(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * ROWS + threadIdx.y;
  const int column = blockIdx.x * 32 + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k + 8 <= K; k += 8)
    for (int i = 0; i < 8; ++i) sum += A[row * K + k + i] * B[(k + i) * N + column];
  C[row * N + column] = sum;
}
