// A scratch array of the size of a file, for every thread.
extern "C" __global__ void too_much_local_memory(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  volatile float scratch[KIB * 256];
  for (int k = 0; k < K; ++k) scratch[(row + k * 7) % (KIB * 256)] = A[row * K + k] * B[k * N + column];
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += scratch[(row + k * 7) % (KIB * 256)];
  C[row * N + column] = sum;
}
