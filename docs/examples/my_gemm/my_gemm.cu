__global__ void my_gemm(int M, int N, int K, const float* A, const float* B, float* C) {
  const int n = blockIdx.x * BX + threadIdx.x, m = blockIdx.y * BY + threadIdx.y;
  if (m >= M || n >= N) return;
  float sum = 0;
#pragma unroll UNROLL
  for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
  C[m * N + n] = sum;
}
