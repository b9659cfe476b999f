#include "common/reduce.cuh"
#include "common/strided_sum.cuh"

enum Combine { atomic_add, partial_sums };

__device__ __forceinline__ void add_atomically(float* total, float value) { atomicAdd(total, value); }
__device__ __forceinline__ void add_atomically(int* total, int value) { atomicAdd(total, value); }
__device__ __forceinline__ void add_atomically(long long* total, long long value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(total), static_cast<unsigned long long>(value));
}

// The blocks step through the input with UNROLL vectors per thread in flight, and reduce their sums by
// shuffles and one barrier. A block adds its sum to `total`, or stores it in its place of `sums`, and then
// counts itself in `arrived`, after a fence that makes the sum visible first. The last to arrive knows that
// every sum is there: it writes the result and sets `total` and `arrived` back to zero for the next launch.
template <class T, class R, int THREADS, int VEC, int UNROLL, Combine COMBINE>
__global__ void __launch_bounds__(THREADS)
    reduction_atomic(long long n, const T* __restrict__ in, R* __restrict__ out, R* total, unsigned* arrived,
                     R* sums) {
  R sum = sum_of_thread<R, VEC, UNROLL>(n, in, static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x,
                                        static_cast<long long>(gridDim.x) * THREADS);
  const auto add = [](R a, R b) { return a + b; };
  sum = reduce_block<THREADS>(sum, add);
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    if constexpr (COMBINE == atomic_add)
      add_atomically(total, sum);
    else
      sums[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;

  __threadfence();
  if constexpr (COMBINE == atomic_add) {
    sum = __ldcg(total);
  } else {
    sum = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += THREADS) sum += __ldcg(&sums[block]);
    sum = reduce_block<THREADS>(sum, add);
  }
  if (threadIdx.x == 0) {
    *out = sum;
    if constexpr (COMBINE == atomic_add) *total = 0;
    *arrived = 0;
  }
}
