// Block z adds up the first z + 1 parts of K. The result is right if the last block happens to write last; the
// pauses, no two alike, see to it that it does not.
extern "C" __global__ void race(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  const int end = K * (blockIdx.z + 1) / PARTS;
  for (int k = 0; k < end; ++k) sum += A[row * K + k] * B[k * N + column];
  const long long start = clock64();
  const long long pause = (start >> 4) % 8192;
  while (clock64() - start < pause) {
  }
  C[row * N + column] = sum;
}
