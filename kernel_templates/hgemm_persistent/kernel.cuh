#include "common/box_store.cuh"
#include "common/persistent.cuh"
#include "common/shared_boxes.cuh"
#include "common/warpgroup_tile.cuh"

// hgemm_specialized with everything that the largest tiles ask for.
//
// Persistent: a block takes one tile of C after another; its producer is far ahead, and the next tile's first
// stages arrive while the last one is stored. Clusters: CLUSTER_M x CLUSTER_N blocks beside each other share
// their rows of A and their columns of B, each copying its part to all. SIDE: wgmma's 64 rows may be rows of C
// or its columns; the other side is then free in steps of 8, so tiles can be cut to fill whole waves. WORK:
// consumers share each tile (its rows of 64, or the other side), or take turns (pingpong), one multiplying
// while the other stores. STORE: straight from registers, or through shared memory in boxes.

/// Which side of C's tile lies along wgmma's rows.
enum Side { m_side, n_side };
/// How consumers divide their work.
enum Work { by_rows, by_n, pingpong };
enum Store { registers, boxes, whole };

template <class T, class Out, Layout LAYOUT, Epilogue EPILOGUE, int BM, int BN, int STAGES, int CLUSTER_M,
          int CLUSTER_N, int CONSUMERS, Side SIDE, Work WORK, Store STORE, bool PAIRS, Raster RASTER, int GROUP,
          Keep KEEP_A, Keep KEEP_B, int PRODUCER_REGISTERS, int CONSUMER_REGISTERS>
__global__ void __cluster_dims__(CLUSTER_M* CLUSTER_N, 1, 1) __launch_bounds__((CONSUMERS + 1) * 128, 1)
    hgemm_persistent(int M, int N, int K, float alpha, float beta, Out* C, int ldc,
                     const Out* __restrict__ bias_vector, const __grid_constant__ TensorMap a_map,
                     const __grid_constant__ TensorMap b_map, const __grid_constant__ TensorMap c_map) {
  constexpr bool kAAcross = LAYOUT == tn || LAYOUT == tt, kBAcross = LAYOUT == nn || LAYOUT == tn;
  constexpr bool kTransposed = SIDE == n_side;  // the sums are those of C's transpose
  constexpr bool kRowsAcross = kTransposed ? kBAcross : kAAcross, kNAcross = kTransposed ? kAAcross : kBAcross;
  constexpr int kTileRows = kTransposed ? BN : BM, kTileN = kTransposed ? BM : BN;
  constexpr int kRows = WORK == by_rows ? kTileRows / CONSUMERS : kTileRows;  // of a consumer
  constexpr int kN = WORK == by_n ? kTileN / CONSUMERS : kTileN;
  constexpr int kCluster = CLUSTER_M * CLUSTER_N, kSharing = CLUSTER_M + CLUSTER_N - 1;
  static_assert(kSharing <= 4, "each warp of a consumer tells one block of the cluster");
  using ABoxes = SharedBoxes<T, kAAcross, BM, CLUSTER_N, KEEP_A>;
  using BBoxes = SharedBoxes<T, kBAcross, BN, CLUSTER_M, KEEP_B>;
  using Product = WarpgroupTile<T, kRowsAcross, kNAcross, kRows, kN>;
  constexpr int kDepth = Product::kDepth, kStage = ABoxes::kBytes + BBoxes::kBytes;

  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ unsigned long long barriers[2 * STAGES];
  const unsigned stages = shared_address(shared), staging = stages + STAGES * kStage;
  const unsigned full = shared_address(barriers), empty = full + STAGES * 8;
  const int rank = kCluster == 1 ? 0 : rank_in_cluster();
  const int rank_m = rank % CLUSTER_M, rank_n = rank / CLUSTER_M;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      init_barrier(full + i * 8, 1);
      init_barrier(empty + i * 8, (WORK == pingpong ? 1 : CONSUMERS) * kSharing);
    }
    publish_barriers();
  }
  if constexpr (kCluster == 1)
    __syncthreads();
  else
    sync_cluster();

  const int tiles_m = (M - 1) / (BM * CLUSTER_M) + 1, tiles_n = (N - 1) / (BN * CLUSTER_N) + 1;
  const int steps = (K - 1) / kDepth + 1;
  int stage = 0, parity = 0;
  const auto advance = [&](int by) {
    stage += by;
    while (stage >= STAGES) {
      stage -= STAGES;
      parity ^= 1;
    }
  };
  const auto tile_at = [&](int number) {
    const TileOrigin place = place_of_tile<RASTER, GROUP>(number, tiles_m, tiles_n);
    return TileOrigin{(place.row * CLUSTER_M + rank_m) * BM, (place.column * CLUSTER_N + rank_n) * BN};
  };
  const int first = blockIdx.x / kCluster, stride = gridDim.x / kCluster, tiles = tiles_m * tiles_n;
  const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;

  if (warpgroup == CONSUMERS) {
    lower_registers<PRODUCER_REGISTERS>();
    if (thread == 0) {
      unsigned short row_mask = 0, column_mask = 0;  // blocks with the same rows of A, the same columns of B
#pragma unroll
      for (int i = 0; i < CLUSTER_N; ++i) row_mask |= 1u << (rank_m + CLUSTER_M * i);
#pragma unroll
      for (int i = 0; i < CLUSTER_M; ++i) column_mask |= 1u << (rank_n * CLUSTER_M + i);
      for (int number = first; number < tiles; number += stride) {
        const TileOrigin tile = tile_at(number);
        for (int i = 0; i < steps; ++i) {
          const unsigned tiles_at = stages + stage * kStage, barrier = full + stage * 8;
          wait_for_phase(empty + stage * 8, parity ^ 1);
          arrive_and_expect(barrier, kStage);
          ABoxes::copy(tiles_at, &a_map, tile.row, i * kDepth, barrier, rank_n, row_mask);
          BBoxes::copy(tiles_at + ABoxes::kBytes, &b_map, tile.column, i * kDepth, barrier, rank_m, column_mask);
          advance(1);
        }
      }
    }
  } else {
    raise_registers<CONSUMER_REGISTERS>();
    Product product;
    const int own_row = WORK == by_rows ? warpgroup * kRows : 0;
    const int own_n = WORK == by_n ? warpgroup * kN : 0;
    const unsigned rows_at = Product::template offset<kRowsAcross>(own_row) + (kTransposed ? ABoxes::kBytes : 0);
    const unsigned n_at = Product::template offset<kNAcross>(own_n) + (kTransposed ? 0 : ABoxes::kBytes);
    // Tells the blocks that copy to this one that a stage may be filled again: one warp each.
    const auto release = [&](int used) {
      if constexpr (kCluster == 1) {
        if (thread == 0) arrive(empty + used * 8);
      } else if (thread % 32 == 0 && thread / 32 < kSharing) {
        const int i = thread / 32;
        const int other = i - CLUSTER_M < rank_n ? i - CLUSTER_M : i - CLUSTER_M + 1;
        arrive_in_block(empty + used * 8, i < CLUSTER_M ? rank_n * CLUSTER_M + i : rank_m + CLUSTER_M * other);
      }
    };
    // Pingpong: consumer w waits at barrier 1 + w for its turn to multiply.
    if (WORK == pingpong && warpgroup == 1) arrive_threads(1, 256);
    int turn = 0;
    for (int number = first; number < tiles; number += stride) {
      if constexpr (WORK == pingpong) {
        if (turn++ % 2 != warpgroup) {
          advance(steps);
          continue;
        }
        sync_threads(1 + warpgroup, 256);
      }
      int before = 0;
      for (int i = 0; i < steps; ++i) {
        wait_for_phase(full + stage * 8, parity);
        const unsigned tiles_at = stages + stage * kStage;
        product.start(tiles_at + rows_at, tiles_at + n_at, i > 0);
        wait_for_products<1>();
        if (i > 0) release(before);
        before = stage;
        advance(1);
      }
      if constexpr (WORK == pingpong) arrive_threads(2 - warpgroup, 256);
      wait_for_products<0>();
      release(before);

      const TileOrigin tile = tile_at(number);
      const int row = tile.row + (kTransposed ? own_n : own_row);
      const int column = tile.column + (kTransposed ? own_row : own_n);
      const Finish<EPILOGUE, Out, float> finish{alpha, beta, bias_vector, C, M, N, ldc};
      if constexpr (STORE == registers) {
        static_assert(!kTransposed, "a thread's neighbours are neighbours in a column");
        product.template store<PAIRS>(finish, row, column, thread);
      } else {
        using Boxes = BoxStore<Out, Product, kRows, kN, kTransposed, STORE == whole>;
        finish_tile<kTransposed, kRows, kN>(finish, product.sum, row, column, thread);
        Boxes::store(product, &c_map, row, column, staging + warpgroup * Boxes::kBytes, 3 + warpgroup, thread);
      }
    }
    if constexpr (STORE != registers) wait_until_stores_have_read<0>();
  }
  if constexpr (kCluster > 1) sync_cluster();  // no block leaves while others copy to it
}
