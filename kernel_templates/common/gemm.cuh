#pragma once

// What every SGEMM lesson needs: C = alpha * A * B + beta * C with row-major matrices,
// A: M x K, B: K x N, C: M x N. Places in a matrix are 64-bit: M * N may exceed 2^31.

struct TileOrigin {
  int row;
  int column;
};

/// blockIdx.x and threadIdx.x, read anew by every call. What a kernel needs before and after its loop over K
/// is then computed twice, where the compiler would keep it in registers throughout the loop.
__device__ __forceinline__ unsigned block_index() {
  unsigned index;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
  return index;
}

__device__ __forceinline__ unsigned thread_index() {
  unsigned index;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
}

/// First row and column of the BM x BN tile of C that this thread block, or another, computes. Tiles are
/// numbered row by row along gridDim.x, since the other grid dimensions end at 65535 blocks.
template <int BM, int BN>
__device__ __forceinline__ TileOrigin tile_origin(int N, unsigned block = blockIdx.x) {
  const unsigned tiles_per_row = (N - 1) / BN + 1;
  return {static_cast<int>(block / tiles_per_row) * BM, static_cast<int>(block % tiles_per_row) * BN};
}

/// The element at (row, column), or 0 beyond the matrix: zeros add nothing to a dot product.
__device__ __forceinline__ float load_or_zero(const float* matrix, int rows, int columns, int row,
                                              int column) {
  return row < rows && column < columns ? matrix[static_cast<long long>(row) * columns + column] : 0.0f;
}

/// Copies the tile that starts at (row, column) to shared memory, zeros beyond the matrix. Neighbouring
/// threads take neighbouring elements of a row.
template <int THREADS, int ROWS, int COLUMNS>
__device__ __forceinline__ void copy_tile(float (&tile)[ROWS][COLUMNS], const float* matrix, int rows,
                                          int columns, int row, int column) {
  constexpr int kElements = ROWS * COLUMNS;
#pragma unroll
  for (int i = 0; i < (kElements + THREADS - 1) / THREADS; ++i) {
    const int element = threadIdx.x + i * THREADS;
    if (kElements % THREADS == 0 || element < kElements) {
      const int r = element / COLUMNS;
      const int c = element % COLUMNS;
      tile[r][c] = load_or_zero(matrix, rows, columns, row + r, column + c);
    }
  }
}

/// Finishes the element of C at (row, column), if there is one. With beta == 0 the old value is not read: it
/// may be NaN.
__device__ __forceinline__ void store_result(float* C, int M, int N, int row, int column, float alpha,
                                             float sum, float beta) {
  if (row >= M || column >= N) return;
  float* c = C + static_cast<long long>(row) * N + column;
  float result = alpha * sum;
  if (beta != 0.0f) result += beta * *c;
  *c = result;
}
