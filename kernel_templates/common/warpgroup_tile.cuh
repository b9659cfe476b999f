#pragma once

#include "common/epilogue.cuh"
#include "common/wgmma.cuh"

/// The part of a block's tile that a warpgroup computes with wgmma, and its sums: ROWS rows of one operand by
/// N rows of the other. Both tiles hold 128 bytes of K in `blocks` (OperandTile). ACROSS: an operand's lines
/// run across K, along M or N.
template <class T, bool ROWS_ACROSS, bool N_ACROSS, int ROWS, int N>
class WarpgroupTile {
 public:
  static constexpr int kDepth = 128 / sizeof(T);  ///< values of k in a tile
  static constexpr int kM = ROWS / 64;
  static_assert(ROWS % 64 == 0 && N % 8 == 0 && N <= 256, "the sizes of wgmma");
  static_assert(!ROWS_ACROSS && !N_ACROSS || sizeof(T) == 2, "wgmma transposes elements of 16 bits alone");

  /// Bytes to row `row` of an operand's tile: a multiple of 8, or of 64 where its lines run across K.
  template <bool ACROSS>
  static __device__ __forceinline__ constexpr unsigned offset(int row) {
    return ACROSS ? row / 64 * kBlock : row * 128;
  }

  /// Starts adding the product of the tiles from these addresses on; `adds` is false for the first.
  __device__ __forceinline__ void start(unsigned rows, unsigned n, bool adds) {
    fence_sums();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        WarpgroupProduct<T, N, ROWS_ACROSS, N_ACROSS>::start(
            sum[m],
            ROWS_ACROSS ? rows_across_k(rows + m * kBlock + step * 2048, kBlock)
                        : rows_along_k(rows + m * 64 * 128 + step * 32),
            N_ACROSS ? rows_across_k(n + step * 2048, kBlock) : rows_along_k(n + step * 32), adds || step > 0);
      }
    }
    commit_products();
  }

  /// Waits until all products are done. The compiler takes sums for ready once their products have started: here
  /// it is told that they change, so that it moves nothing that reads them before the wait.
  __device__ __forceinline__ void finish() {
    wait_for_products<0>();
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int i = 0; i < N / 2; ++i) is_changed(sum[m][i]);
    }
  }

  /// Where C is rows by N: stores the sums at (row, column) of C. `thread`: of the warpgroup.
  template <bool PAIRS, class Finish>
  __device__ __forceinline__ void store(const Finish& finish, int row, int column, int thread) const {
    row += thread / 32 * 16 + thread % 32 / 4;
    column += thread % 4 * 2;
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int n = 0; n < N / 8; ++n) {
        const Sum<T>* four = &sum[m][n * 4];
        finish.template store<PAIRS>(row + m * 64, column + n * 8, four[0], four[1]);
        finish.template store<PAIRS>(row + m * 64 + 8, column + n * 8, four[2], four[3]);
      }
    }
  }

  Sum<T> sum[kM][N / 2];  ///< of each 64 rows, as wgmma.cuh has them

 private:
  static __device__ __forceinline__ void is_changed(float& value) { asm volatile("" : "+f"(value)::"memory"); }
  static __device__ __forceinline__ void is_changed(int& value) { asm volatile("" : "+r"(value)::"memory"); }

  static constexpr unsigned kBlock = kDepth * 128;  ///< bytes: 64 columns of every line
};
