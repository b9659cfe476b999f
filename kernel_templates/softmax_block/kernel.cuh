#include "common/row_cache.cuh"
#include "common/softmax.cuh"

// A block computes one row with a single reduction: every thread finds the maximum of its values and the sum
// of their exponentials relative to it, and pairs of (maximum, sum) are combined as in the online softmax of
// Milakov and Gimelshein. With the row in registers each exponential is computed once and later scaled by
// e^(maximum of the thread - maximum of the row) / sum. Otherwise the sum is rescaled whenever the maximum
// grows, once per vector, and the exponentials are computed again for the output.
template <class T, int THREADS, int VEC, RowCache CACHE, int VECTORS, bool STREAMED>
__global__ void __launch_bounds__(THREADS)
    softmax_block(int columns, const T* __restrict__ in, T* __restrict__ out) {
  extern __shared__ __align__(16) unsigned char kept[];
  const long long start = static_cast<long long>(blockIdx.x) * columns;
  BlockRow<T, THREADS, VEC, CACHE, VECTORS, STREAMED> row(columns, in + start, out + start,
                                                          reinterpret_cast<T*>(kept));
  const auto combine_sums = [](BaseSum a, BaseSum b) { return combine(a, b); };
  BaseSum mine{-INFINITY, 0};
  if constexpr (CACHE == registers) {
    row.read(-INFINITY, [&](const float(&x)[VEC], int) {
#pragma unroll
      for (int i = 0; i < VEC; ++i) mine.base = fmaxf(mine.base, x[i]);
    });
    mine.base *= kLog2E;
    row.read_again([&](float(&x)[VEC], int) {
#pragma unroll
      for (int i = 0; i < VEC; ++i) {
        x[i] = exp2_fast(fmaf(x[i], kLog2E, -finite_base(mine.base)));
        mine.sum += x[i];
      }
    });
    const BaseSum all = reduce_block<THREADS>(mine, combine_sums);
    const float factor = exp2_fast(mine.base - finite_base(all.base)) / all.sum;
    row.write([&](float(&x)[VEC], int) {
#pragma unroll
      for (int i = 0; i < VEC; ++i) x[i] *= factor;
    });
  } else {
    row.read(-INFINITY, [&](const float(&x)[VEC], int) {
      float maximum = x[0];
#pragma unroll
      for (int i = 1; i < VEC; ++i) maximum = fmaxf(maximum, x[i]);
      const float base = fmaxf(mine.base, maximum * kLog2E);
      mine.sum *= exp2_fast(mine.base - finite_base(base));
      mine.base = base;
#pragma unroll
      for (int i = 0; i < VEC; ++i) mine.sum += exp2_fast(fmaf(x[i], kLog2E, -finite_base(base)));
    });
    const BaseSum all = reduce_block<THREADS>(mine, combine_sums);
    const float base = finite_base(all.base);
    const float factor = 1.0f / all.sum;
    row.write([&](float(&x)[VEC], int) {
#pragma unroll
      for (int i = 0; i < VEC; ++i) x[i] = exp2_fast(fmaf(x[i], kLog2E, -base)) * factor;
    });
  }
}
