// The plain product of matrices with any leading dimensions: one thread computes VECTOR neighbours in a row of C.
extern "C" __global__ void sgemm_strided(int M, int N, int K, float alpha, const float* A, int lda, const float* B,
                                         int ldb, float beta, float* C, int ldc) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = (blockIdx.x * blockDim.x + threadIdx.x) * VECTOR;
  if (row >= M || column >= N) return;
  float sum[VECTOR] = {};
  for (int k = 0; k < K; ++k) {
    const float a = A[(long long)row * lda + k];
    for (int i = 0; i < VECTOR; ++i) {
      if (column + i < N) sum[i] += a * B[(long long)k * ldb + column + i];
    }
  }
  for (int i = 0; i < VECTOR; ++i) {
    if (column + i >= N) return;
    float& out = C[(long long)row * ldc + column + i];
    out = beta == 0.0f ? alpha * sum[i] : alpha * sum[i] + beta * out;
  }
}
