#pragma once

#include "common/vectors.cuh"

enum Activation { relu, gelu, silu };

template <Activation ACTIVATION>
__device__ __forceinline__ float activate(float x) {
  if constexpr (ACTIVATION == relu) {
    return fmaxf(x, 0.0f);
  } else if constexpr (ACTIVATION == gelu) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752440f));
  } else {
    return __fdividef(x, 1.0f + __expf(-x));
  }
}

/// activation(in + bias), in FP32.
template <Activation ACTIVATION, class T, int N>
__device__ __forceinline__ Vector<T, N> bias_activation(const Vector<T, N>& in, const Vector<T, N>& bias) {
  Vector<T, N> out;
#pragma unroll
  for (int i = 0; i < N; ++i)
    out.at[i] = from_float<T>(activate<ACTIVATION>(to_float(in.at[i]) + to_float(bias.at[i])));
  return out;
}
