#pragma once

/// A part of a tile of C: `tiles` tiles of K from the `first` on.
struct Part {
  int tile;
  int first, tiles;
  int number, parts;  ///< which of how many
};

/// The parts that a block, or a cluster of CLUSTER, of a stream-K grid takes, one after another: whole tiles
/// while there are more than two rounds. The rest, one to two rounds, is cut into equal lengths of K, whether
/// or not they end with a tile, so that none is much shorter than a tile. Whole rounds alone are not cut
/// (Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on
/// the GPU", 2023).
template <int CLUSTER>
struct Stream {
  int tiles, depth;  ///< of C, and tiles of K in each
  int whole;         ///< tiles of C that blocks take as a whole
  int blocks;        ///< that share the rest
  int round;         ///< of whole tiles
  int now, end;      ///< in the rest, counted in tiles of K

  __device__ __forceinline__ Stream(int tiles, int depth) : tiles(tiles), depth(depth), round(0) {
    const int all = gridDim.x / CLUSTER;
    whole = tiles % all == 0 ? tiles : max(tiles / all - 1, 0) * all;
    blocks = static_cast<int>(min(rest(), static_cast<long long>(all)));  // nobody's length is 0
    now = start(min(own_number(), blocks));
    end = start(min(own_number() + 1, blocks));
  }
  static __device__ __forceinline__ int own_number() { return static_cast<int>(blockIdx.x / CLUSTER); }
  __device__ __forceinline__ long long rest() const { return static_cast<long long>(tiles - whole) * depth; }
  __device__ __forceinline__ int start(int block) const {
    return blocks == 0 ? 0 : static_cast<int>(rest() * block / blocks);
  }
  /// The block that takes place `at` of the rest.
  __device__ __forceinline__ int block_at(int at) const {
    return static_cast<int>(((at + 1LL) * blocks - 1) / rest());
  }

  __device__ __forceinline__ bool next(Part& part) {
    const unsigned all = gridDim.x / CLUSTER;
    if (round * all < whole) {
      part = {static_cast<int>(round++ * all + own_number()), 0, depth, 0, 1};
      return true;
    }
    if (now >= end) return false;
    const int tile = now / depth, first = now % depth, count = min(depth - first, end - now);
    const int first_block = block_at(tile * depth), last_block = block_at((tile + 1) * depth - 1);
    part = {whole + tile, first, count, own_number() - first_block, last_block - first_block + 1};
    now += count;
    return true;
  }
  /// A block has two slots: one for the tile in which its length begins, one for that in which it ends.
  __device__ __forceinline__ int slot(const Part& part, int number) const {
    const int tile = part.tile - whole, block = block_at(tile * depth) + number;
    return 2 * block + (start(block) / depth == tile ? 0 : 1);
  }
};
