#include "common/reduce.cuh"
#include "common/vectors.cuh"

// A group of LANES neighbouring threads computes ROWS whole rows, which stay in registers between the one
// read and the one write: no shared memory and no barrier. All loads are issued before the first value is
// used, so that ROWS * VECTORS vectors per thread are in flight. The sum of squares is exchanged by shuffles.
// A vector of weights is loaded once for all ROWS rows. Groups past the last row take part in the shuffles
// and store nothing.
template <class T, int LANES, int ROWS, int VEC, int VECTORS, int THREADS, bool STREAMED>
__global__ void __launch_bounds__(THREADS)
    rmsnorm_warp(int rows, int columns, float eps, const T* __restrict__ in, const T* __restrict__ weight,
                 T* __restrict__ out) {
  const int lane = threadIdx.x % LANES;
  const long long row0 =
      (static_cast<long long>(blockIdx.x) * (THREADS / LANES) + threadIdx.x / LANES) * ROWS;

  float x[ROWS][VECTORS][VEC];
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const int column = (v * LANES + lane) * VEC;
      if (row0 + row < rows && column < columns) {
        const auto vector = load_vector<VEC, STREAMED>(in + (row0 + row) * columns + column);
#pragma unroll
        for (int i = 0; i < VEC; ++i) x[row][v][i] = to_float(vector.at[i]);
      } else {
#pragma unroll
        for (int i = 0; i < VEC; ++i) x[row][v][i] = 0;
      }
    }
  }

  const auto add = [](float a, float b) { return a + b; };
  float factor[ROWS];
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < VECTORS * VEC; ++i) sum += x[row][i / VEC][i % VEC] * x[row][i / VEC][i % VEC];
    factor[row] = rsqrtf(reduce_lanes<LANES>(sum, add) / columns + eps);
  }

#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = (v * LANES + lane) * VEC;
    if (column >= columns) continue;
    const auto weights = load_vector<VEC, false>(weight + column);
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
      Vector<T, VEC> vector;
#pragma unroll
      for (int i = 0; i < VEC; ++i)
        vector.at[i] = from_float<T>(x[row][v][i] * factor[row] * to_float(weights.at[i]));
      if (row0 + row < rows) store_vector<STREAMED>(out + (row0 + row) * columns + column, vector);
    }
  }
}
