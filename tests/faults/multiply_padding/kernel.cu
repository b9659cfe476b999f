// Multiplies what lies between the rows of A by zero, as if it were always a number.
extern "C" __global__ void multiply_padding(int M, int N, int K, const float* A, int lda, const float* B, int ldb,
                                            float* C, int ldc) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K + 4; ++k) sum += A[row * lda + k] * (k < K ? B[k * ldb + column] : 0.0f);
  C[row * ldc + column] = sum;
}
