#include "common/block_reduce.cuh"
#include "common/elements.cuh"

// A block per row and three passes over it: the maximum, the sum of exponentials, the output.
template <class T>
__global__ void softmax_three_pass(int columns, const T* __restrict__ in, T* __restrict__ out) {
  constexpr int kThreads = 256;
  const long long start = static_cast<long long>(blockIdx.x) * columns;
  in += start;
  out += start;
  float maximum = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += kThreads) maximum = fmaxf(maximum, static_cast<float>(in[i]));
  maximum = reduce_block<kThreads>(maximum, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += kThreads) sum += expf(static_cast<float>(in[i]) - maximum);
  sum = reduce_block<kThreads>(sum, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < columns; i += kThreads)
    out[i] = static_cast<T>(expf(static_cast<float>(in[i]) - maximum) / sum);
}
