#include "common/reduce.cuh"
#include "common/row_cache.cuh"

// A block computes one row. While the row is read it is kept in registers or in shared memory and its squares
// are summed, first per thread, then by shuffles and one barrier; the output is computed from what was kept.
// With CACHE none the row is read again, most of it from the L2 cache. The weights are the same for all
// blocks and come from the L2 cache.
template <class T, int THREADS, int VEC, RowCache CACHE, int VECTORS, bool STREAMED>
__global__ void __launch_bounds__(THREADS) rmsnorm_block(int columns, float eps, const T* __restrict__ in,
                                                         const T* __restrict__ weight, T* __restrict__ out) {
  extern __shared__ __align__(16) unsigned char kept[];
  const long long start = static_cast<long long>(blockIdx.x) * columns;
  BlockRow<T, THREADS, VEC, CACHE, VECTORS, STREAMED> row(columns, in + start, out + start,
                                                          reinterpret_cast<T*>(kept));
  float sum = 0;
  row.read(0, [&](const float(&x)[VEC], int) {
#pragma unroll
    for (int i = 0; i < VEC; ++i) sum += x[i] * x[i];
  });
  sum = reduce_block<THREADS>(sum, [](float a, float b) { return a + b; });
  const float factor = rsqrtf(sum / columns + eps);
  row.write([&](float(&x)[VEC], int column) {
    const auto weights = load_vector<VEC, false>(weight + column);
#pragma unroll
    for (int i = 0; i < VEC; ++i) x[i] *= factor * to_float(weights.at[i]);
  });
}
