#pragma once

#include "common/operand_tile.cuh"

/// How a thread block's tiles of A (BM x BK) and B (BK x BN) lie in shared memory, and the threads' copies of
/// them from global memory, one tile after another along K.
template <class T, Layout LAYOUT, int BM, int BN, int BK, Storage STORAGE, int THREADS, int VEC, bool CHECKED>
class BlockOperands {
 public:
  static constexpr bool kAAcross = LAYOUT == tn || LAYOUT == tt;  ///< A's lines run across K
  static constexpr bool kBAcross = LAYOUT == nn || LAYOUT == tn;
  using ATile = OperandTile<T, kAAcross ? BK : BM, kAAcross ? BM : BK, STORAGE>;
  using BTile = OperandTile<T, kBAcross ? BK : BN, kBAcross ? BN : BK, STORAGE>;
  static constexpr int kBytes = ATile::kBytes + BTile::kBytes;  ///< of a stage: A, then B

  /// Of the tile of C that starts at (row, column).
  __device__ __forceinline__ BlockOperands(int M, int N, int K, const T* A, int lda, const T* B, int ldb,
                                           int row, int column)
      : left_((K - 1) / BK + 1),
        a_(A, kAAcross ? K : M, kAAcross ? M : K, lda, kAAcross ? 0 : row, kAAcross ? row : 0),
        b_(B, kBAcross ? K : N, kBAcross ? N : K, ldb, kBAcross ? 0 : column, kBAcross ? column : 0) {}

  /// Starts copying the next tiles, if there are any.
  __device__ __forceinline__ void copy(unsigned stage) {
    if (left_-- <= 0) return;
    a_.copy(stage);
    b_.copy(stage + ATile::kBytes);
    if constexpr (kAAcross)
      a_.move_across_lines(BK);
    else
      a_.move_along_lines(BK);
    if constexpr (kBAcross)
      b_.move_across_lines(BK);
    else
      b_.move_along_lines(BK);
  }

 private:
  int left_;
  TileCopy<ATile, THREADS, VEC, CHECKED> a_;
  TileCopy<BTile, THREADS, VEC, CHECKED> b_;
};
