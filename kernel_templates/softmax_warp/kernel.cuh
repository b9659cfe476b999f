#include "common/softmax.cuh"

// A group of LANES neighbouring threads computes ROWS whole rows, which stay in registers between the one
// read and the one write: no shared memory and no barrier. All loads are issued before the first value is
// used, so that ROWS * VECTORS vectors per thread are in flight. Maximum and sum are exchanged by shuffles;
// columns past the end count as minus infinity. Groups past the last row take part in the shuffles and store
// nothing.
template <class T, int LANES, int ROWS, int VEC, int VECTORS, int THREADS, bool STREAMED>
__global__ void __launch_bounds__(THREADS)
    softmax_warp(int rows, int columns, const T* __restrict__ in, T* __restrict__ out) {
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
        for (int i = 0; i < VEC; ++i) x[row][v][i] = -INFINITY;
      }
    }
  }

  const auto larger = [](float a, float b) { return fmaxf(a, b); };
  const auto add = [](float a, float b) { return a + b; };
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    float maximum = -INFINITY;
#pragma unroll
    for (int i = 0; i < VECTORS * VEC; ++i) maximum = fmaxf(maximum, x[row][i / VEC][i % VEC]);
    const float base = reduce_lanes<LANES>(maximum, larger) * kLog2E;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < VECTORS * VEC; ++i) {
      float& value = x[row][i / VEC][i % VEC];
      value = exp2_fast(fmaf(value, kLog2E, -base));
      sum += value;
    }
    const float factor = 1.0f / reduce_lanes<LANES>(sum, add);
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const int column = (v * LANES + lane) * VEC;
      Vector<T, VEC> vector;
#pragma unroll
      for (int i = 0; i < VEC; ++i) vector.at[i] = from_float<T>(x[row][v][i] * factor);
      if (row0 + row < rows && column < columns)
        store_vector<STREAMED>(out + (row0 + row) * columns + column, vector);
    }
  }
}
