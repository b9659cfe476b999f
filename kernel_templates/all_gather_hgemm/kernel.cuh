#include "common/box_pipeline.cuh"
#include "common/box_store.cuh"
#include "common/gather.cuh"
#include "common/persistent.cuh"

// hgemm_persistent where each GPU has a slice of the rows of A, and multiplies all of A by its own columns of
// B.
//
// Nobody waits for all of A. Blocks begin with the tiles of the GPU's own slice, which take longer than the
// transfer of another one across NVLink; then they go on with the slice of the next GPU, and so on. What
// other GPUs have arrives in chunks, and a producer waits before the first tile of a chunk until its word
// says that it is here. Whoever copies sets the words (TRANSFER): copy engines beside this kernel, or the
// three warps beside each block's producer, which have nothing else to do. These need all blocks to run at
// the same time.

/// How C leaves.
enum Store { registers, boxes, whole };

template <class T, class Out, Transfer TRANSFER, int BM, int BN, int STAGES, int CLUSTER_M, int CLUSTER_N,
          int CONSUMERS, Side SIDE, Work WORK, Store STORE, Raster RASTER, int GROUP, int PRODUCER_REGISTERS,
          int CONSUMER_REGISTERS>
__global__ void __cluster_dims__(CLUSTER_M* CLUSTER_N, 1, 1) __launch_bounds__((CONSUMERS + 1) * 128, 1)
    all_gather_hgemm(int rows, int N, int K, int slices, int rank, float alpha, Out* C, T* gathered,
                     const T* const* peers, unsigned* arrived, unsigned* left, int chunks,
                     const __grid_constant__ TensorMap own_map,
                     const __grid_constant__ TensorMap gathered_map, const __grid_constant__ TensorMap b_map,
                     const __grid_constant__ TensorMap c_map) {
  using Pipeline =
      BoxPipeline<T, nn, BM, BN, STAGES, CLUSTER_M, CLUSTER_N, CONSUMERS, SIDE, WORK, normal, normal>;
  extern __shared__ __align__(1024) unsigned char shared[];
  constexpr int kCopying = 3;  // warps of a block that have nothing else to do
  const int complete = TRANSFER == copy_engine ? 1 : TRANSFER == loads ? gridDim.x * kCopying : 0;
  const Arrivals arrivals{arrived, chunks, rows / chunks, complete};
  Pipeline pipeline(shared_address(shared));

  const int tiles_m = rows / (BM * CLUSTER_M), tiles_n = (N - 1) / (BN * CLUSTER_N) + 1;
  const int of_slice = tiles_m * tiles_n, tiles = of_slice * slices;
  const int steps = (K - 1) / Pipeline::kDepth + 1;
  const int first = blockIdx.x / Pipeline::kCluster, stride = gridDim.x / Pipeline::kCluster;
  const auto slice_at = [&](int number) { return slice_of_step(rank, number / of_slice, slices); };
  const auto tile_at = [&](int number) {  // within its slice
    return pipeline.tile_at(place_of_tile<RASTER, GROUP>(number % of_slice, tiles_m, tiles_n));
  };
  const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;

  if (warpgroup == CONSUMERS) {
    lower_registers<PRODUCER_REGISTERS>();
    if (thread == 0) {
      for (int number = first; number < tiles; number += stride) {
        const int slice = slice_at(number);
        TileOrigin tile = tile_at(number);
        if (slice != rank) {
          arrivals.wait(slice, tile.row, BM);
          order_with_bulk_copies();
          tile.row += slice * rows;
        }
        pipeline.fill(slice == rank ? &own_map : &gathered_map, &b_map, tile, 0, steps);
      }
    } else if (TRANSFER == loads && thread >= 32) {
      const long long chunk_bytes = static_cast<long long>(rows / chunks) * K * sizeof(T);
      copy_slices(reinterpret_cast<char*>(gathered), reinterpret_cast<const char* const*>(peers), rank,
                  slices, chunk_bytes, arrivals, blockIdx.x * kCopying + thread / 32 - 1,
                  gridDim.x * kCopying);
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

      TileOrigin part = Pipeline::own_part(tile_at(number), warpgroup);
      part.row += slice_at(number) * rows;
      const Finish<identity, Out, float> finish{alpha, 0, nullptr, C, rows * slices, N, N};
      if constexpr (STORE == registers) {
        static_assert(!Pipeline::kTransposed, "a thread's neighbours are neighbours in a column");
        product.template store<true>(finish, part.row, part.column, thread);
      } else {
        constexpr int kRows = Pipeline::kRows, kN = Pipeline::kN;
        using Boxes =
            BoxStore<Out, typename Pipeline::Product, kRows, kN, Pipeline::kTransposed, STORE == whole>;
        finish_tile<Pipeline::kTransposed, kRows, kN>(finish, product.sum, part.row, part.column, thread);
        Boxes::store(product, &c_map, part.row, part.column,
                     shared_address(shared) + Pipeline::kBytes + warpgroup * Boxes::kBytes, 3 + warpgroup,
                     thread);
      }
    }
    if constexpr (STORE != registers) wait_until_stores_have_read<0>();
  }
  pipeline.leave();
  if constexpr (TRANSFER != nccl) clear_by_last_block(arrived, slices * chunks, left);
}
