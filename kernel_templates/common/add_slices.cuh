#pragma once

#include "common/peers.cuh"
#include "common/vectors.cuh"

/// C = the sum of the slice number `rank` of each GPU's matrix, of `elements` elements, which is read where
/// it lies, across NVLink. Each GPU begins with its own; sums are in FP32. VEC elements at a time, UNROLL of
/// them under way.
template <class T, class Partial, int THREADS, int VEC, int UNROLL>
__global__ void __launch_bounds__(THREADS)
    add_slices(long long elements, int slices, int rank, const Partial* const* matrices, T* __restrict__ C) {
  const long long first = static_cast<long long>(blockIdx.x) * (THREADS * UNROLL) + threadIdx.x;
  float sum[UNROLL][VEC] = {};
  for (int step = 0; step < slices; ++step) {
    const Partial* from = matrices[slice_of_step(rank, step, slices)] + rank * elements;
    Vector<Partial, VEC> part[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const long long i = (first + u * THREADS) * VEC;
      if (i < elements) part[u] = load_vector<VEC, true>(from + i);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
      for (int k = 0; k < VEC; ++k) sum[u][k] += to_float(part[u].at[k]);
    }
  }
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const long long i = (first + u * THREADS) * VEC;
    if (i >= elements) continue;
    Vector<T, VEC> out;
#pragma unroll
    for (int k = 0; k < VEC; ++k) out.at[k] = from_float<T>(sum[u][k]);
    store_vector<false>(C + i, out);
  }
}
