#include "common/block_reduce.cuh"
#include "common/elements.cuh"

// A block per row and two passes over it: the sum of squares, the output.
template <class T>
__global__ void rmsnorm_two_pass(int columns, float eps, const T* __restrict__ in, const T* __restrict__ weight,
                                 T* __restrict__ out) {
  constexpr int kThreads = 256;
  const long long start = static_cast<long long>(blockIdx.x) * columns;
  in += start;
  out += start;
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += kThreads) {
    const float x = static_cast<float>(in[i]);
    squares += x * x;
  }
  squares = reduce_block<kThreads>(squares, [](float a, float b) { return a + b; });
  const float factor = rsqrtf(squares / columns + eps);
  for (int i = threadIdx.x; i < columns; i += kThreads)
    out[i] = static_cast<T>(static_cast<float>(in[i]) * factor * static_cast<float>(weight[i]));
}
