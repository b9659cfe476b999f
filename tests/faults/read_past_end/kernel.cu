// The product with a stray read that changes nothing: only a memory checker sees it.
extern "C" __global__ void read_past_end(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row == 0 && column == 0) sum += 0.0f * B[(long long)K * N];
  C[row * N + column] = sum;
}
