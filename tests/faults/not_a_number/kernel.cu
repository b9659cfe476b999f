// A division of zero by zero.
extern "C" __global__ void not_a_number(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row == 3 && column == 5) sum = (sum - sum) / (sum - sum);
  C[row * N + column] = sum;
}
