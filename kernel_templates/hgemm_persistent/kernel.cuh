#include "common/box_pipeline.cuh"
#include "common/box_store.cuh"
#include "common/persistent.cuh"

// hgemm_specialized with everything that the largest tiles ask for.
//
// Persistent: a block takes one tile of C after another; its producer is far ahead, and the next tile's first
// stages arrive while the last one is stored. Clusters: CLUSTER_M x CLUSTER_N blocks beside each other share
// their rows of A and their columns of B, each copying its part to all. SIDE: wgmma's 64 rows may be rows of
// C or its columns; the other side is then free in steps of 8, so tiles can be cut to fill whole waves. WORK:
// consumers share each tile (its rows of 64, or the other side), or take turns (pingpong), one multiplying
// while the other stores. STORE: straight from registers, or through shared memory in boxes.

/// How C leaves.
enum Store { registers, boxes, whole };

template <class T, class Out, Layout LAYOUT, Epilogue EPILOGUE, int BM, int BN, int STAGES, int CLUSTER_M,
          int CLUSTER_N, int CONSUMERS, Side SIDE, Work WORK, Store STORE, bool PAIRS, Raster RASTER,
          int GROUP, Keep KEEP_A, Keep KEEP_B, int PRODUCER_REGISTERS, int CONSUMER_REGISTERS>
__global__ void __cluster_dims__(CLUSTER_M* CLUSTER_N, 1, 1) __launch_bounds__((CONSUMERS + 1) * 128, 1)
    hgemm_persistent(int M, int N, int K, Sum<T> alpha, Sum<T> beta, Out* C, int ldc,
                     const Out* __restrict__ bias_vector, const __grid_constant__ TensorMap a_map,
                     const __grid_constant__ TensorMap b_map, const __grid_constant__ TensorMap c_map) {
  using Pipeline =
      BoxPipeline<T, LAYOUT, BM, BN, STAGES, CLUSTER_M, CLUSTER_N, CONSUMERS, SIDE, WORK, KEEP_A, KEEP_B>;
  extern __shared__ __align__(1024) unsigned char shared[];
  if (threadIdx.x == 0) {
    prefetch_map(&a_map);
    prefetch_map(&b_map);
    if constexpr (STORE != registers) prefetch_map(&c_map);
  }
  Pipeline pipeline(shared_address(shared));

  const int tiles_m = (M - 1) / (BM * CLUSTER_M) + 1, tiles_n = (N - 1) / (BN * CLUSTER_N) + 1;
  const int steps = (K - 1) / Pipeline::kDepth + 1;
  const auto tile_at = [&](int number) {
    return pipeline.tile_at(place_of_tile<RASTER, GROUP>(number, tiles_m, tiles_n));
  };
  const int first = blockIdx.x / Pipeline::kCluster, stride = gridDim.x / Pipeline::kCluster;
  const int tiles = tiles_m * tiles_n, warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;

  if (warpgroup == CONSUMERS) {
    lower_registers<PRODUCER_REGISTERS>();
    if (thread == 0) {
      for (int number = first; number < tiles; number += stride)
        pipeline.fill(&a_map, &b_map, tile_at(number), 0, steps);
    }
  } else {
    raise_registers<CONSUMER_REGISTERS>();
    pipeline.begin(warpgroup);
    typename Pipeline::Product product;
    int turn = 0;
    for (int number = first; number < tiles; number += stride) {
      if (WORK == pingpong && turn++ % 2 != warpgroup) {
        pipeline.skip(steps);
        continue;
      }
      pipeline.multiply(product, warpgroup, steps);

      const TileOrigin part = Pipeline::own_part(tile_at(number), warpgroup);
      const Finish<EPILOGUE, Out, Sum<T>> finish{alpha, beta, bias_vector, C, M, N, ldc};
      constexpr bool kTransposed = Pipeline::kTransposed;
      if constexpr (STORE == registers) {
        static_assert(!kTransposed, "a thread's neighbours are neighbours in a column");
        product.template store<PAIRS>(finish, part.row, part.column, thread);
      } else {
        constexpr int kRows = Pipeline::kRows, kN = Pipeline::kN;
        using Boxes = BoxStore<Out, typename Pipeline::Product, kRows, kN, kTransposed, STORE == whole>;
        finish_tile<kTransposed, kRows, kN>(finish, product.sum, part.row, part.column, thread);
        Boxes::store(product, &c_map, part.row, part.column,
                     shared_address(shared) + Pipeline::kBytes + warpgroup * Boxes::kBytes, 3 + warpgroup,
                     thread);
      }
    }
    if constexpr (STORE != registers) wait_until_stores_have_read<0>();
  }
  pipeline.leave();
}
