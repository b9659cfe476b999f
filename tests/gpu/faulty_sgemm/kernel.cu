// A plain product, and what kernels do wrong, one FAULT at a time (0: nothing). For the check on a GPU.
extern "C" __global__ void faulty_sgemm(int M, int N, int K, float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const bool first = row == 0 && column == 0;
  if (FAULT == 1 && first) C[(1ll << 40) + 1] = 0.0f;            // writes an illegal address
  if (FAULT == 2 && first) C[(long long)M * N] = 0.0f;           // writes just past the end
  if (FAULT == 3 && first) C[-1] = 0.0f;                         // writes just before the start
  if (FAULT == 4) {                                              // never ends
    for (volatile int forever = 0; forever < 2147483647;) forever = 0;
  }
  if (FAULT == 5 && first) A[0] = 0.5f;                          // writes an input
  if (FAULT == 6) asm("trap;");
  if (row >= M || column >= N) return;
  if (FAULT == 7 && row == 3 && column == 5) return;             // leaves one element unwritten
  float sum = 0.0f;
  for (int k = 0; k < K - (FAULT == 8 ? 1 : 0); ++k) sum += A[(long long)row * K + k] * B[(long long)k * N + column];
  if (FAULT == 9 && first) sum = __int_as_float(0x7fc00000);     // one NaN
  if (FAULT == 10 && first) sum += 0.0f * B[(long long)K * N];    // reads just past the end
  C[(long long)row * N + column] = sum;
}
