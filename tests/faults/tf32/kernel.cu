// A product that claims FP32 and multiplies in TF32: right in every other way. A warp computes 16 x 8 elements of C with
// mma.m16n8k8; what lies past the edges counts as zero.

// FP32 rounded to nearest, ties away, to the ten bits of TF32.
static __device__ unsigned tf32(const float* matrix, int row, int column, int rows, int columns) {
  const float value = row < rows && column < columns ? matrix[row * columns + column] : 0.0f;
  unsigned rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
  return rounded;
}

static __device__ void store(float* C, int row, int column, int M, int N, float value) {
  if (row < M && column < N) C[row * N + column] = value;
}

extern "C" __global__ void tf32_gemm(int M, int N, int K, const float* A, const float* B, float* C) {
  const int lane = threadIdx.x % 32;
  const int group = lane / 4;   // a row of A and C, a column of B
  const int member = lane % 4;  // a column of A, a row of B, two columns of C
  const int row = blockIdx.y * 16 + group;
  const int column = (blockIdx.x * WARPS + threadIdx.x / 32) * 8;
  float c[4] = {};
  for (int k = 0; k < K; k += 8) {
    const unsigned a0 = tf32(A, row, k + member, M, K);
    const unsigned a1 = tf32(A, row + 8, k + member, M, K);
    const unsigned a2 = tf32(A, row, k + member + 4, M, K);
    const unsigned a3 = tf32(A, row + 8, k + member + 4, M, K);
    const unsigned b0 = tf32(B, k + member, column + group, K, N);
    const unsigned b1 = tf32(B, k + member + 4, column + group, K, N);
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  store(C, row, column + member * 2, M, N, c[0]);
  store(C, row, column + member * 2 + 1, M, N, c[1]);
  store(C, row + 8, column + member * 2, M, N, c[2]);
  store(C, row + 8, column + member * 2 + 1, M, N, c[3]);
}
