// A vector load that starts one element too late.
extern "C" __global__ void misaligned(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const double pair = *reinterpret_cast<const double*>(A + 1);
  C[row * N + column] = sum + 0.0f * (float)pair;
}
