// One launch in eleven gives a wrong result. It takes its time, so that all its launches can be checked.
__device__ int launches = 0;

extern "C" __global__ void wrong_sometimes(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  for (const long long start = clock64(); clock64() - start < 1000000;) {
  }
  if (row == 0 && column == 0 && ++launches % 11 == TURN) sum += 1.0f;
  C[row * N + column] = sum;
}
