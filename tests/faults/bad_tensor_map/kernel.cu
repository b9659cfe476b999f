// The host has to describe A in a way that no tensor map can.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

extern "C" __global__ void bad_tensor_map(const __grid_constant__ TensorMap map, int M, int N, int K,
                                          const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
