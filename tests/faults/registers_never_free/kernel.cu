// Three warpgroups of 168 registers per thread have the whole register file. Each waits for others to give some back.
extern "C" __global__ void __launch_bounds__(384, 1) registers_never_free(int M, int N, int K, const float* A,
                                                                           const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
