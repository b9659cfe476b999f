#pragma once

#include "common/epilogue.cuh"
#include "common/operand_tile.cuh"

/// The WM x WN part of a block's tile of C that a warp computes with mma.sync, and its sums. The tiles of A
/// and B are OperandTiles of BK values of k. A_ACROSS, B_ACROSS: their lines run across K, along M or N; for
/// elements of 16 bits, which ldmatrix can transpose. BUFFERS: with 2 the warp reads the fragments of the
/// next step while it multiplies those of this one.
template <class Sum, class ATile, bool A_ACROSS, class BTile, bool B_ACROSS, int WM, int WN, int BUFFERS>
class WarpTile {
 public:
  using T = typename ATile::Element;
  static constexpr int kSteps = (A_ACROSS ? ATile::kLines : ATile::kLength) * sizeof(T) / 32;
  static constexpr int kM = WM / 16, kN = WN / 16;  ///< fragments of A and pairs of fragments of B

  /// At (row, column) of the block's tile.
  __device__ __forceinline__ WarpTile(int row, int column) : row_(row), column_(column) {}

  /// Adds the product of the tiles that start at these addresses of shared memory.
  __device__ __forceinline__ void multiply(unsigned a_tile, unsigned b_tile) {
    unsigned a[BUFFERS][kM][4], b[BUFFERS][kN][4];
    load(a[0], b[0], a_tile, b_tile, 0);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (BUFFERS == 2 && step + 1 < kSteps)
        load(a[(step + 1) % BUFFERS], b[(step + 1) % BUFFERS], a_tile, b_tile, step + 1);
#pragma unroll
      for (int m = 0; m < kM; ++m) {
#pragma unroll
        for (int n = 0; n < 2 * kN; ++n) {
          const unsigned* words = &b[step % BUFFERS][n / 2][n % 2 * 2];
          multiply_matrices<T>(sum_[m][n], a[step % BUFFERS][m], words[0], words[1]);
        }
      }
      if (BUFFERS == 1 && step + 1 < kSteps) load(a[0], b[0], a_tile, b_tile, step + 1);
    }
  }

  /// Stores the sums; the block's tile starts at (row, column) of C.
  template <bool PAIRS, class Finish>
  __device__ __forceinline__ void store(const Finish& finish, int row, int column) const {
    row += row_ + lane() / 4;
    column += column_ + lane() % 4 * 2;
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int n = 0; n < 2 * kN; ++n) {
        const Sum(&four)[4] = sum_[m][n];
        finish.template store<PAIRS>(row + m * 16, column + n * 8, four[0], four[1]);
        finish.template store<PAIRS>(row + m * 16 + 8, column + n * 8, four[2], four[3]);
      }
    }
  }

 private:
  static __device__ __forceinline__ int lane() { return threadIdx.x % 32; }

  __device__ __forceinline__ void load(unsigned (&a)[kM][4], unsigned (&b)[kN][4], unsigned a_tile,
                                       unsigned b_tile, int step) const {
#pragma unroll
    for (int m = 0; m < kM; ++m) load_a(a[m], a_tile, row_ + m * 16, step);
#pragma unroll
    for (int n = 0; n < kN; ++n) load_b(b[n], b_tile, column_ + n * 16, step);
  }
  /// The words of 16 rows by 32 bytes of k, as multiply_matrices takes them.
  static __device__ __forceinline__ void load_a(unsigned (&words)[4], unsigned tile, int row, int step) {
    if constexpr (A_ACROSS) {
      const int line = step * 16 + lane() / 16 * 8 + lane() % 8;
      load_transposed_matrices(words, tile + ATile::offset(line, row / ATile::kChunk + lane() / 8 % 2));
    } else {
      load_matrices(words, tile + ATile::offset(row + lane() % 16, step * 2 + lane() / 16));
    }
  }
  /// Of two fragments of 8 columns, the words of the first before those of the second.
  static __device__ __forceinline__ void load_b(unsigned (&words)[4], unsigned tile, int column, int step) {
    if constexpr (B_ACROSS) {
      const int line = step * 16 + lane() % 16;
      load_transposed_matrices(words, tile + BTile::offset(line, column / BTile::kChunk + lane() / 16));
    } else {
      const int line = column + lane() / 16 * 8 + lane() % 8;
      load_matrices(words, tile + BTile::offset(line, step * 2 + lane() / 8 % 2));
    }
  }

  int row_, column_;
  Sum sum_[kM][2 * kN][4] = {};
};
