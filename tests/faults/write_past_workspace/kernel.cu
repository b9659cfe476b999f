// One partial sum too many.
extern "C" __global__ void write_past_workspace(int M, int N, int K, const float* A, const float* B, float* C,
                                                float* partials) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  partials[row * N + column] = sum;
  C[row * N + column] = partials[row * N + column];
  if (row == 0 && column == 0) partials[(long long)M * N] = sum;
}
