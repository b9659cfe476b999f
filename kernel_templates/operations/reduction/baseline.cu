#include "common/block_reduce.cuh"
#include "common/elements.cuh"

template <class R>
__global__ void reduction_clear(R* out) {
  *out = 0;
}

__device__ void add(float* out, float sum) { atomicAdd(out, sum); }
__device__ void add(int* out, int sum) { atomicAdd(out, sum); }
// Two's complement: the bits of a sum are those of the unsigned one.
__device__ void add(long long* out, long long sum) {
  atomicAdd(reinterpret_cast<unsigned long long*>(out), static_cast<unsigned long long>(sum));
}

// Threads add up elements a grid apart, blocks add their threads' sums, and one thread adds each block's.
template <class T, class R>
__global__ void reduction_atomic_add(long long n, const T* __restrict__ in, R* __restrict__ out) {
  constexpr int kThreads = 256;
  const long long step = static_cast<long long>(gridDim.x) * kThreads;
  R sum = 0;
  for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step)
    sum += static_cast<R>(in[i]);
  sum = reduce_block<kThreads>(sum, [](R a, R b) { return a + b; });
  if (threadIdx.x == 0) add(out, sum);
}
