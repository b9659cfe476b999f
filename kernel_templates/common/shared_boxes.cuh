#pragma once

#include "common/cluster.cuh"
#include "common/operand_tile.cuh"

/// A tile of WIDTH rows (of A) or columns (of B) by 128 bytes of K, in the storage `blocks` of OperandTile, that
/// SHARE blocks of a cluster have in common: each copies its part of the boxes to all of them. ACROSS: the
/// operand's lines run across K; boxes then have 64 columns, and all values of k or, where there are too few
/// boxes to share, a part of them.
template <class T, bool ACROSS, int WIDTH, int SHARE, Keep KEEP>
class SharedBoxes {
 public:
  static constexpr int kDepth = 128 / sizeof(T);  ///< values of k in a tile
  static constexpr int kParts = ACROSS && WIDTH / 64 % SHARE != 0 ? SHARE : 1;
  static constexpr int kBoxWidth = ACROSS ? 64 : WIDTH / SHARE;
  static constexpr int kBoxDepth = kDepth / kParts;
  static constexpr int kBytes = WIDTH * 128;
  static_assert(!ACROSS || WIDTH % 64 == 0, "whole blocks of 64 columns");
  static_assert(kBoxWidth % 8 == 0 && kBoxDepth % 8 == 0, "parts keep the swizzle's pattern of eight lines");

  /// Copies part `part` of the tile at (`at`, `k`) to the blocks of the mask.
  static __device__ __forceinline__ void copy(unsigned tile, const TensorMap* map, int at, int k, unsigned barrier,
                                              int part, unsigned short blocks) {
    if constexpr (ACROSS) {
#pragma unroll
      for (int i = 0; i < WIDTH / 64 * kParts / SHARE; ++i) {
        const int box = i * SHARE + part, block = box / kParts, line = box % kParts * kBoxDepth;
        copy_box_to<KEEP, SHARE != 1>(tile + block * kDepth * 128 + line * 128, map, at + block * 64, k + line,
                                      barrier, blocks);
      }
    } else {
      copy_box_to<KEEP, SHARE != 1>(tile + part * kBoxWidth * 128, map, k, at + part * kBoxWidth, barrier, blocks);
    }
  }
};
