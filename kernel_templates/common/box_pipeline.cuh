#pragma once

#include "common/gemm.cuh"
#include "common/shared_boxes.cuh"
#include "common/warpgroup_tile.cuh"

/// Which side of C's tile lies along wgmma's rows.
enum Side { m_side, n_side };
/// How consumers divide their work.
enum Work { by_rows, by_n, pingpong };

/// The way of A's and B's tiles through shared memory in a block of CONSUMERS warpgroups that multiply and
/// one behind them that asks for tiles, the producer. Clusters of CLUSTER_M x CLUSTER_N blocks share their
/// rows of A and their columns of B, each block copying its part to all. Producer and consumers go through
/// the same sequence of tiles of C, and of steps along K in each.
template <class T, Layout LAYOUT, int BM, int BN, int STAGES, int CLUSTER_M, int CLUSTER_N, int CONSUMERS,
          Side SIDE, Work WORK, Keep KEEP_A, Keep KEEP_B>
class BoxPipeline {
 public:
  static constexpr bool kAAcross = LAYOUT == tn || LAYOUT == tt, kBAcross = LAYOUT == nn || LAYOUT == tn;
  static constexpr bool kTransposed = SIDE == n_side;  ///< the sums are those of C's transpose
  static constexpr bool kRowsAcross = kTransposed ? kBAcross : kAAcross;
  static constexpr bool kNAcross = kTransposed ? kAAcross : kBAcross;
  static constexpr int kTileRows = kTransposed ? BN : BM, kTileN = kTransposed ? BM : BN;
  static constexpr int kRows = WORK == by_rows ? kTileRows / CONSUMERS : kTileRows;  ///< of a consumer
  static constexpr int kN = WORK == by_n ? kTileN / CONSUMERS : kTileN;
  static constexpr int kCluster = CLUSTER_M * CLUSTER_N;
  using ABoxes = SharedBoxes<T, kAAcross, BM, CLUSTER_N, KEEP_A>;
  using BBoxes = SharedBoxes<T, kBAcross, BN, CLUSTER_M, KEEP_B>;
  using Product = WarpgroupTile<T, kRowsAcross, kNAcross, kRows, kN>;
  static constexpr int kDepth = Product::kDepth;  ///< values of k in a step
  static constexpr int kStage = ABoxes::kBytes + BBoxes::kBytes, kBytes = STAGES * kStage;

  /// Uses kBytes of shared memory, from a boundary of 1024 bytes on. All threads of the cluster. The thread
  /// that copies sets up the barriers. Where no other block copies to its own, it waits for nobody: its first
  /// copies are on their way while the consumers begin.
  __device__ __forceinline__ explicit BoxPipeline(unsigned stages) : stages_(stages) {
    __shared__ unsigned long long barriers[2 * STAGES];
    full_ = shared_address(barriers);
    empty_ = full_ + STAGES * 8;
    const int rank = kCluster == 1 ? 0 : rank_in_cluster();
    rank_m_ = rank % CLUSTER_M;
    rank_n_ = rank / CLUSTER_M;
    if (threadIdx.x == CONSUMERS * 128) {
      for (int i = 0; i < STAGES; ++i) {
        init_barrier(full_ + i * 8, 1);
        init_barrier(empty_ + i * 8, (WORK == pingpong ? 1 : CONSUMERS) * kSharing);
      }
      publish_barriers();
    }
    __syncwarp();
    constexpr int kThreads = (CONSUMERS + 1) * 128;
    if constexpr (kCluster > 1)
      sync_cluster();
    else if (threadIdx.x / 128 == CONSUMERS)
      arrive_threads(0, kThreads);
    else
      sync_threads(0, kThreads);
  }

  /// The block's own tile where the cluster's is the one at `place`, in tiles of clusters.
  __device__ __forceinline__ TileOrigin tile_at(TileOrigin place) const {
    return {(place.row * CLUSTER_M + rank_m_) * BM, (place.column * CLUSTER_N + rank_n_) * BN};
  }

  /// One thread of the producer: copies the operands of a tile of C, for `steps` steps from the `first` on.
  /// B's values of k are `b_back` less than A's map has them.
  __device__ __forceinline__ void fill(const TensorMap* a_map, const TensorMap* b_map, TileOrigin tile,
                                       int first, int steps, int b_back = 0) {
    unsigned short row_mask = 0, column_mask = 0;  // blocks with the same rows of A, the same columns of B
#pragma unroll
    for (int i = 0; i < CLUSTER_N; ++i) row_mask |= 1u << (rank_m_ + CLUSTER_M * i);
#pragma unroll
    for (int i = 0; i < CLUSTER_M; ++i) column_mask |= 1u << (rank_n_ * CLUSTER_M + i);
    for (int i = first; i < first + steps; ++i) {
      const unsigned tiles_at = stages_ + stage_ * kStage, barrier = full_ + stage_ * 8;
      wait_for_phase(empty_ + stage_ * 8, parity_ ^ 1);
      arrive_and_expect(barrier, kStage);
      ABoxes::copy(tiles_at, a_map, tile.row, i * kDepth, barrier, rank_n_, row_mask);
      BBoxes::copy(tiles_at + ABoxes::kBytes, b_map, tile.column, i * kDepth - b_back, barrier, rank_m_,
                   column_mask);
      skip(1);
    }
  }

  /// Where a consumer's part of the tile begins, along wgmma's rows and along the other side.
  static __device__ __forceinline__ int own_row(int consumer) {
    return WORK == by_rows ? consumer * kRows : 0;
  }
  static __device__ __forceinline__ int own_n(int consumer) { return WORK == by_n ? consumer * kN : 0; }
  /// The same in C, where the block's tile begins at `tile`.
  static __device__ __forceinline__ TileOrigin own_part(TileOrigin tile, int consumer) {
    return {tile.row + (kTransposed ? own_n(consumer) : own_row(consumer)),
            tile.column + (kTransposed ? own_row(consumer) : own_n(consumer))};
  }

  /// A consumer, before its first tile. Pingpong: consumer w waits at barrier 1 + w for its turn to multiply.
  __device__ __forceinline__ void begin(int consumer) {
    if (WORK == pingpong && consumer == 1) arrive_threads(1, 256);
  }
  /// A consumer: sets the sums of its part of a tile.
  __device__ __forceinline__ void multiply(Product& product, int consumer, int steps) {
    multiply(product, consumer, steps, [](unsigned) {});
  }
  /// The same; `prepare` may first change the consumer's rows of the tile's first step, from this address on.
  template <class Prepare>
  __device__ __forceinline__ void multiply(Product& product, int consumer, int steps,
                                           const Prepare& prepare) {
    const unsigned rows_at =
        Product::template offset<kRowsAcross>(own_row(consumer)) + (kTransposed ? ABoxes::kBytes : 0);
    const unsigned n_at =
        Product::template offset<kNAcross>(own_n(consumer)) + (kTransposed ? 0 : ABoxes::kBytes);
    if constexpr (WORK == pingpong) sync_threads(1 + consumer, 256);
    int before = 0;
    for (int i = 0; i < steps; ++i) {
      wait_for_phase(full_ + stage_ * 8, parity_);
      const unsigned tiles_at = stages_ + stage_ * kStage;
      if (i == 0) prepare(tiles_at + rows_at);
      product.start(tiles_at + rows_at, tiles_at + n_at, i > 0);
      wait_for_products<1>();
      if (i > 0) release(before);
      before = stage_;
      skip(1);
    }
    if constexpr (WORK == pingpong) arrive_threads(2 - consumer, 256);
    product.finish();
    release(before);
  }
  /// Passes over steps that are another consumer's.
  __device__ __forceinline__ void skip(int steps) {
    stage_ += steps;
    while (stage_ >= STAGES) {
      stage_ -= STAGES;
      parity_ ^= 1;
    }
  }

  /// All threads, at the end: no block leaves while others copy to it.
  __device__ __forceinline__ void leave() const {
    if constexpr (kCluster > 1) sync_cluster();
  }

 private:
  static constexpr int kSharing = CLUSTER_M + CLUSTER_N - 1;  ///< blocks that copy to one
  static_assert(kSharing <= 4, "each warp of a consumer tells one block of the cluster");

  /// Tells the blocks that copy to this one that a stage may be filled again: one warp each.
  __device__ __forceinline__ void release(int stage) const {
    const int thread = threadIdx.x % 128;
    if constexpr (kCluster == 1) {
      if (thread == 0) arrive(empty_ + stage * 8);
    } else if (thread % 32 == 0 && thread / 32 < kSharing) {
      const int i = thread / 32;
      const int other = i - CLUSTER_M < rank_n_ ? i - CLUSTER_M : i - CLUSTER_M + 1;
      arrive_in_block(empty_ + stage * 8,
                      i < CLUSTER_M ? rank_n_ * CLUSTER_M + i : rank_m_ + CLUSTER_M * other);
    }
  }

  unsigned stages_, full_, empty_;
  int rank_m_, rank_n_;
  int stage_ = 0, parity_ = 0;
};
