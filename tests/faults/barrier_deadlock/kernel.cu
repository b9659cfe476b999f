// Each barrier expects every thread of the block and gets every second warp.
extern "C" __global__ void barrier_deadlock(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int threads = blockDim.x * blockDim.y;
  const int warp = (threadIdx.y * blockDim.x + threadIdx.x) / 32;
  if (warp % 2 == 0) {
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
  } else {
    asm volatile("bar.sync 2, %0;" ::"r"(threads) : "memory");
  }
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
