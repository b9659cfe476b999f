// The last block of a tile adds up what all have left in the workspace, and takes the ticket back to zero.
extern "C" __global__ void split_k(int M, int N, int K, const float* A, const float* B, float* C,
                                   volatile float* partials, unsigned* tickets) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const bool inside = row < M && column < N;
  const int depth = (K + SPLIT - 1) / SPLIT;
  const int begin = blockIdx.z * depth;
  float sum = 0.0f;
  for (int k = begin; inside && k < min(begin + depth, K); ++k) sum += A[row * K + k] * B[k * N + column];
#if SPLIT == 1
  if (inside) C[row * N + column] = partials == nullptr && tickets == nullptr ? sum : 0.0f;
#else
  if (inside) partials[(blockIdx.z * M + row) * N + column] = sum;
  __threadfence();
  __syncthreads();
  __shared__ bool is_last;
  const int tile = blockIdx.y * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0 && threadIdx.y == 0) is_last = atomicAdd(&tickets[tile], 1u) == SPLIT - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  if (threadIdx.x == 0 && threadIdx.y == 0) tickets[tile] = 0;
  if (!inside) return;
  sum = 0.0f;
  for (int part = 0; part < SPLIT; ++part) sum += partials[(part * M + row) * N + column];
  C[row * N + column] = sum;
#endif
}
