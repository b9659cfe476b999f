// A loop that ends one step early.
extern "C" __global__ void wrong_result(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K - 1; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
