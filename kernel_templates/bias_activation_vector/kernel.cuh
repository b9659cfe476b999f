#include "common/activation.cuh"

// A block covers THREADS_X * VEC columns and THREADS_Y * ROWS rows. A thread stays in its columns, so that it
// reads the bias once, and loads the vectors of all its rows before it computes the first: ROWS vectors per
// thread are in flight, which hides the latency of device memory without many threads.
template <class T, Activation ACTIVATION, int THREADS_X, int THREADS_Y, int ROWS, int VEC, bool STREAMED>
__global__ void __launch_bounds__(THREADS_X* THREADS_Y)
    bias_activation_vector(int rows, int columns, int blocks_across, const T* __restrict__ in,
                           const T* __restrict__ bias, T* __restrict__ out) {
  const int block_row = blockIdx.x / blocks_across;
  const int block_column = blockIdx.x % blocks_across;
  const int column = (block_column * THREADS_X + static_cast<int>(threadIdx.x)) * VEC;
  const long long row0 = static_cast<long long>(block_row) * THREADS_Y * ROWS + threadIdx.y;
  if (column >= columns) return;

  const auto biases = load_vector<VEC, false>(bias + column);
  Vector<T, VEC> vectors[ROWS];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const long long row = row0 + i * THREADS_Y;
    if (row < rows) vectors[i] = load_vector<VEC, STREAMED>(in + row * columns + column);
  }
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const long long row = row0 + i * THREADS_Y;
    if (row < rows)
      store_vector<STREAMED>(out + row * columns + column, bias_activation<ACTIVATION>(vectors[i], biases));
  }
}
