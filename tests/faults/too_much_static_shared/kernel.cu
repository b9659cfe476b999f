// More than a block may have on any GPU: the compiler says so.
extern "C" __global__ void too_much_static_shared(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  constexpr int TILE = WIDTH * 4096;
  __shared__ float tile[TILE];
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  for (int i = thread; i < TILE; i += blockDim.x * blockDim.y) tile[i] = A[i % K];
  __syncthreads();
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum + 0.0f * tile[column % TILE];
}
