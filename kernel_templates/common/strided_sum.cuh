#pragma once

#include "common/vectors.cuh"

/// The sum of what one of `threads` threads takes of n elements: every `threads`th vector of VEC elements,
/// UNROLL of them in flight, and at most one of the n % VEC elements behind the last vector.
template <class R, int VEC, int UNROLL, class T>
__device__ __forceinline__ R sum_of_thread(long long n, const T* __restrict__ in, long long thread,
                                           long long threads) {
  const long long vectors = n / VEC;
  R sum_of[VEC] = {};
  for (long long start = thread; start < vectors; start += UNROLL * threads) {
    Vector<T, VEC> loaded[UNROLL] = {};
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const long long i = start + u * threads;
      if (i < vectors) loaded[u] = load_vector<VEC, false>(in + i * VEC);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
      for (int k = 0; k < VEC; ++k) sum_of[k] += static_cast<R>(loaded[u].at[k]);
    }
  }
  const long long tail = vectors * VEC + thread;
  R sum = tail < n ? static_cast<R>(in[tail]) : R(0);
#pragma unroll
  for (int k = 0; k < VEC; ++k) sum += sum_of[k];
  return sum;
}
