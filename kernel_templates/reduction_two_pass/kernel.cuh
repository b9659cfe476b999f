#include "common/reduce.cuh"
#include "common/strided_sum.cuh"

// The first launch: each block stores the sum of its elements. The end of the launch makes the sums visible to the
// next one, so that no block waits for another.
template <class T, class R, int THREADS, int VEC, int UNROLL>
__global__ void __launch_bounds__(THREADS)
    reduction_of_blocks(long long n, const T* __restrict__ in, R* __restrict__ sums) {
  R sum = sum_of_thread<R, VEC, UNROLL>(n, in, static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x,
                                        static_cast<long long>(gridDim.x) * THREADS);
  sum = reduce_block<THREADS>(sum, [](R a, R b) { return a + b; });
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// The second launch: one block adds them, in the same order every time.
template <class R, int LAST_THREADS>
__global__ void __launch_bounds__(LAST_THREADS)
    reduction_of_sums(int count, const R* __restrict__ sums, R* __restrict__ out) {
  R sum = 0;
  for (int i = threadIdx.x; i < count; i += LAST_THREADS) sum += sums[i];
  sum = reduce_block<LAST_THREADS>(sum, [](R a, R b) { return a + b; });
  if (threadIdx.x == 0) *out = sum;
}
