// What assert() calls where an assertion does not hold.
extern "C" __device__ void __assertfail(const char* message, const char* file, unsigned int line, const char* function,
                                        size_t character_bytes);

extern "C" __global__ void assert_fails(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row == 0 && column == COLUMN) __assertfail("this column is never reached", __FILE__, __LINE__, "assert_fails", 1);
  C[row * N + column] = sum;
}
