// One element too many, behind the last of a row of C.
extern "C" __global__ void write_padding(int M, int N, int K, const float* A, int lda, const float* B, int ldb, float* C,
                                         int ldc) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * lda + k] * B[k * ldb + column];
  C[row * ldc + column] = sum;
  if (row == 3 && column == 0) C[row * ldc + N] = sum;
}
