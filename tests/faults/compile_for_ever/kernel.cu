// By recursion of templates that each cost some time, or by unrolling millions of steps.
#if BY_UNROLLING
template <int START>
__device__ __noinline__ float unrolled(const float* A, const float* B) {
  float sum = START;
#pragma unroll
  for (int i = 0; i < 256; ++i) {
#pragma unroll
    for (int j = 0; j < 256; ++j) {
#pragma unroll
      for (int k = 0; k < 64; ++k) sum = __sinf(sum) * A[i * j + k] + B[j * 3 + k * i];
    }
  }
  return sum;
}
#else
__device__ constexpr int steps(int count) {
  int value = 0;
  for (int i = 0; i < count; ++i) value ^= i * count;
  return value;
}

template <int DEPTH, unsigned NODE>
struct Tree {
  static constexpr int value =
      steps(20000 + NODE % 8) ^ Tree<DEPTH - 1, 2 * NODE>::value ^ Tree<DEPTH - 1, 2 * NODE + 1>::value;
};
template <unsigned NODE>
struct Tree<0, NODE> {
  static constexpr int value = NODE;
};
#endif

extern "C" __global__ void compile_for_ever(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
#if BY_UNROLLING
  C[row * N + column] = unrolled<0>(A, B) + unrolled<1>(A, B) + unrolled<2>(A, B) + unrolled<3>(A, B) +
                        unrolled<4>(A, B) + unrolled<5>(A, B) + unrolled<6>(A, B) + unrolled<7>(A, B);
#else
  C[row * N + column] = Tree<30, 0>::value;
#endif
}
