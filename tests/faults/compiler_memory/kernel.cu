// By 2^30 different types in the front end, or by a table of 1.2 GB in the optimizer.
#if BY_TABLE
__device__ int table[300000000] = {1};
#endif

template <int DEPTH, unsigned NODE>
struct Tree {
  static constexpr unsigned value = Tree<DEPTH - 1, 2 * NODE>::value + Tree<DEPTH - 1, 2 * NODE + 1>::value;
};
template <unsigned NODE>
struct Tree<0, NODE> {
  static constexpr unsigned value = NODE;
};

extern "C" __global__ void compiler_memory(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
#if BY_TABLE
  C[row * N + column] = table[row * N + column];
#else
  C[row * N + column] = Tree<30, 0>::value;
#endif
}
