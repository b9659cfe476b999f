#include "common/elements.cuh"

enum Activation { relu, gelu, silu };

// A thread per element.
template <class T, Activation ACTIVATION>
__global__ void bias_activation_plain(int columns, long long elements, const T* __restrict__ in,
                                      const T* __restrict__ bias, T* __restrict__ out) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  const float x = static_cast<float>(in[i]) + static_cast<float>(bias[i % columns]);
  float y = fmaxf(x, 0);
  if (ACTIVATION == gelu) y = 0.5f * x * (1 + erff(x * 0.70710678f));
  if (ACTIVATION == silu) y = x / (1 + expf(-x));
  out[i] = static_cast<T>(y);
}
