#include "common/tile_order.cuh"
#include "common/vectors.cuh"

// A block reads a tile row by row and writes it column by column, so that both accesses to global memory are
// contiguous. Rows of the tile in shared memory are PAD elements longer than needed, which spreads the
// elements of a column over the banks. A thread moves VEC neighbouring elements of a row with one access to
// global memory; in shared memory it takes the elements of a column one at a time. The kernel moves bits:
// elements are words of BYTES bytes.
template <int BYTES, int TILE_ROWS, int TILE_COLUMNS, int THREADS, int VEC, int PAD, TileOrder ORDER>
__global__ void __launch_bounds__(THREADS)
    transpose_padded(int rows, int columns, const typename WordOf<BYTES>::Type* __restrict__ in,
                     typename WordOf<BYTES>::Type* __restrict__ out) {
  using Element = typename WordOf<BYTES>::Type;
  constexpr int kPitch = TILE_COLUMNS + PAD;
  constexpr int kVectors = TILE_ROWS * TILE_COLUMNS / VEC / THREADS;  // per thread
  __shared__ __align__(16) Element tile[TILE_ROWS * kPitch];
  const TileStart start = tile_start<ORDER, TILE_ROWS, TILE_COLUMNS>(rows, columns);

  Vector<Element, VEC> vectors[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int i = v * THREADS + threadIdx.x;
    const int row = i / (TILE_COLUMNS / VEC);
    const int column = i % (TILE_COLUMNS / VEC) * VEC;
    if (start.row + row < rows && start.column + column < columns) {
      vectors[v] = load_vector<VEC, false>(in + static_cast<long long>(start.row + row) * columns +
                                           start.column + column);
    }
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int i = v * THREADS + threadIdx.x;
    const int row = i / (TILE_COLUMNS / VEC);
    const int column = i % (TILE_COLUMNS / VEC) * VEC;
    if constexpr (kPitch % VEC == 0) {
      store_vector<false>(&tile[row * kPitch + column], vectors[v]);
    } else {
#pragma unroll
      for (int k = 0; k < VEC; ++k) tile[row * kPitch + column + k] = vectors[v].at[k];
    }
  }
  __syncthreads();
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int i = v * THREADS + threadIdx.x;
    const int column = i / (TILE_ROWS / VEC);
    const int row = i % (TILE_ROWS / VEC) * VEC;
    Vector<Element, VEC> vector;
#pragma unroll
    for (int k = 0; k < VEC; ++k) vector.at[k] = tile[(row + k) * kPitch + column];
    if (start.row + row < rows && start.column + column < columns) {
      store_vector<false>(out + static_cast<long long>(start.column + column) * rows + start.row + row,
                          vector);
    }
  }
}
