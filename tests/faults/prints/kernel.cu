// Prints to a terminal what the terminal would obey.
extern "C" __global__ void prints(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row == 0 && column == 0) {
    for (int line = 0; line < LINES; ++line) printf("\033[2J\033]0;owned\007line %d\r\n", line);
  }
  C[row * N + column] = sum;
}
