#pragma once

#include "common/async_copy.cuh"
#include "common/operand_tile.cuh"

/// A thread block's tiles of A (BM x 128 bytes) and B (128 bytes x BN) as bulk copies bring them: the storage
/// `blocks` of OperandTile, so boxes are 128 bytes wide and swizzled. Where an operand's lines run across K a
/// box has 64 columns, and the values of k of a tile below each other.
template <class T, Layout LAYOUT, int BM, int BN>
class BoxOperands {
 public:
  static constexpr bool kAAcross = LAYOUT == tn || LAYOUT == tt;
  static constexpr bool kBAcross = LAYOUT == nn || LAYOUT == tn;
  static constexpr int kDepth = 128 / sizeof(T);  ///< values of k in a tile
  static constexpr int kABytes = BM * 128;
  static constexpr int kBBytes = BN * 128;
  static constexpr int kBytes = kABytes + kBBytes;  ///< of a stage: A, then B

  /// One thread starts copying the tiles at (row, k) of A and (k, column) of B; they arrive at the barrier.
  static __device__ __forceinline__ void copy(unsigned stage, unsigned barrier, const TensorMap* a_map,
                                              const TensorMap* b_map, int row, int column, int k) {
    arrive_and_expect(barrier, kBytes);
    copy_operand<kAAcross, BM>(stage, a_map, row, k, barrier);
    copy_operand<kBAcross, BN>(stage + kABytes, b_map, column, k, barrier);
  }

 private:
  template <bool ACROSS, int WIDTH>
  static __device__ __forceinline__ void copy_operand(unsigned to, const TensorMap* map, int at, int k,
                                                      unsigned barrier) {
    if constexpr (ACROSS) {
#pragma unroll
      for (int i = 0; i < WIDTH / 64; ++i) copy_box(to + i * kDepth * 128, map, at + i * 64, k, barrier);
    } else {
      copy_box(to, map, k, at, barrier);
    }
  }
};
