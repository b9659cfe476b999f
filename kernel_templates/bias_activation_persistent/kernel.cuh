#include "common/activation.cuh"

// The matrix is one sequence of vectors, through which a fixed number of blocks goes in steps of the whole
// grid. The launch rounds the number of blocks so that a step is a whole number of rows, if there are enough
// blocks for that: a thread then stays in its columns and keeps its vector of the bias in registers.
// Otherwise it moves by the rest of the step to other columns of the row, without a division, and reads the
// bias from the caches. UNROLL vectors per thread are in flight.
template <class T, Activation ACTIVATION, int UNROLL, int VEC, bool STREAMED, bool SAME_COLUMNS>
__device__ __forceinline__ void sweep_matrix(long long vectors, int row_vectors, long long first,
                                             long long step, const T* __restrict__ in,
                                             const T* __restrict__ bias, T* __restrict__ out) {
  int column = first % row_vectors;
  const int column_step = step % row_vectors;
  Vector<T, VEC> biases = load_vector<VEC, false>(bias + static_cast<long long>(column) * VEC);
  for (long long start = first; start < vectors; start += UNROLL * step) {
    Vector<T, VEC> loaded[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const long long i = start + u * step;
      if (i < vectors) loaded[u] = load_vector<VEC, STREAMED>(in + i * VEC);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const long long i = start + u * step;
      if constexpr (!SAME_COLUMNS) {
        biases = load_vector<VEC, false>(bias + static_cast<long long>(column) * VEC);
        column += column_step;
        if (column >= row_vectors) column -= row_vectors;
      }
      if (i < vectors) store_vector<STREAMED>(out + i * VEC, bias_activation<ACTIVATION>(loaded[u], biases));
    }
  }
}

template <class T, Activation ACTIVATION, int THREADS, int VEC, int UNROLL, bool STREAMED>
__global__ void __launch_bounds__(THREADS)
    bias_activation_persistent(long long vectors, int row_vectors, const T* __restrict__ in,
                               const T* __restrict__ bias, T* __restrict__ out) {
  const long long first = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  const long long step = static_cast<long long>(gridDim.x) * THREADS;
  if (step % row_vectors == 0)
    sweep_matrix<T, ACTIVATION, UNROLL, VEC, STREAMED, true>(vectors, row_vectors, first, step, in, bias,
                                                             out);
  else
    sweep_matrix<T, ACTIVATION, UNROLL, VEC, STREAMED, false>(vectors, row_vectors, first, step, in, bias,
                                                              out);
}
