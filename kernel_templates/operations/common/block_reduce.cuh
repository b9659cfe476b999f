#pragma once

// Combines a value of each thread through a tree in shared memory; every thread gets the result. A block has
// THREADS threads, a power of two.
template <int THREADS, class V, class Combine>
__device__ V reduce_block(V mine, Combine combine) {
  __shared__ V values[THREADS];
  __syncthreads();  // the values of an earlier call have been read
  values[threadIdx.x] = mine;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
  }
  __syncthreads();
  return values[0];
}
