// K is a constant here, which its template has not heard of.
extern "C" __global__ void wrong_arguments(int M, int N, const float* A, const float* B, float* C) {
  constexpr int K = 100;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
