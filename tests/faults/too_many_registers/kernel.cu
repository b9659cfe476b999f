// Without __launch_bounds__ the compiler does not know how large the block is.
extern "C" __global__ void too_many_registers(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M) return;
  for (int column = 0; column < N; column += COLUMNS) {
    float sums[COLUMNS] = {};
    for (int k = 0; k < K; ++k) {
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i) {
        if (column + i < N) sums[i] += A[row * K + k] * B[k * N + column + i];
      }
    }
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      if (column + i < N) C[row * N + column + i] = sums[i];
    }
  }
}
