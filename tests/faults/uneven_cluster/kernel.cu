// The grid has 19 blocks beside each other, which no clusters of 2 or 4 divide.
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)
    uneven_cluster(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
