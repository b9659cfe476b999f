// A counter that nobody takes back.
extern "C" __global__ void dirty_workspace(int M, int N, int K, const float* A, const float* B, float* C,
                                           unsigned* tickets) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
  if (row < 2 && column == 0) atomicAdd(&tickets[3], 1u);
}
