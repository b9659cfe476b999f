#include "common/add_slices.cuh"
#include "common/box_pipeline.cuh"
#include "common/box_store.cuh"
#include "common/bulk_copy.cuh"
#include "common/partial_tile.cuh"
#include "common/persistent.cuh"
#include "common/scatter.cuh"

// hgemm_persistent where each GPU has a part of K: columns of A and rows of B. Every GPU's product is a part
// of the whole sum; each GPU is to have the sums of its slice of the rows of C. TRANSFER says how they get
// there.
//
// push: blocks begin with the tiles of other GPUs' slices. A consumer writes its sums to shared memory and
// goes on with its next tile; a warp beside the producer sends them by bulk copies of PIECE bytes, one at a
// time. More at a time would fill the way from the multiprocessor to its memory, on which the next tiles
// come. The tiles of the GPU's own slice are last: by then most of what others have sent is here. Each word
// has one reader, who sets it back to zero.
//
// copy_engine: a first launch keeps the sums of other GPUs' slices in its own memory; copy engines fetch them
// while a second launch computes the GPU's own slice.

/// How a finished tile leaves.
enum Store { registers, boxes };

template <class T, class Out, class Partial, Transfer TRANSFER, int PIECE, int BM, int BN, int STAGES,
          int CLUSTER_M, int CLUSTER_N, int CONSUMERS, Side SIDE, Work WORK, Store STORE, Raster RASTER,
          int GROUP, int PRODUCER_REGISTERS, int CONSUMER_REGISTERS>
__global__ void __cluster_dims__(CLUSTER_M* CLUSTER_N, 1, 1) __launch_bounds__((CONSUMERS + 1) * 128, 1)
    hgemm_reduce_scatter(int rows, int N, int K, int slices, int rank, int first_step, int end_step,
                         float alpha, Out* C, Partial* outgoing, Partial* const* incoming,
                         unsigned* const* arrived, unsigned* left, int chunks,
                         const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                         const __grid_constant__ TensorMap c_map) {
  using Pipeline =
      BoxPipeline<T, nn, BM, BN, STAGES, CLUSTER_M, CLUSTER_N, CONSUMERS, SIDE, WORK, normal, normal>;
  using Product = typename Pipeline::Product;
  using Sums = PartialTile<Partial, Product, Pipeline::kRows, Pipeline::kN>;
  using Boxes = BoxStore<Out, Product, Pipeline::kRows, Pipeline::kN, Pipeline::kTransposed, false>;
  constexpr bool kPushes = TRANSFER == push, kAdds = TRANSFER != whole_matrix;
  constexpr int kSums = kPushes ? Sums::kBytes : 0, kBoxes = STORE == boxes ? Boxes::kBytes : 0;
  constexpr int kStaging = kSums > kBoxes ? kSums : kBoxes;  // bytes of a consumer
  constexpr int kParts = WORK == pingpong ? 1 : CONSUMERS;   // consumers that share a tile
  constexpr int kStaged = 6, kSent = 9;                      // barriers of each consumer and its sender
  extern __shared__ __align__(1024) unsigned char shared[];
  Pipeline pipeline(shared_address(shared));

  const int tiles_m = rows / (BM * CLUSTER_M), tiles_n = (N - 1) / (BN * CLUSTER_N) + 1;
  const int of_slice = tiles_m * tiles_n;
  const Steps order{rank, slices, first_step, end_step};
  const Parts parts{of_slice, Pipeline::kCluster * kParts};
  const int first = first_step * of_slice + blockIdx.x / Pipeline::kCluster, end = end_step * of_slice;
  const int steps = (K - 1) / Pipeline::kDepth + 1, stride = gridDim.x / Pipeline::kCluster;
  const auto slice_at = [&](int number) { return order.slice(number / of_slice); };
  const auto tile_at = [&](int number) {  // within its slice
    return pipeline.tile_at(place_of_tile<RASTER, GROUP>(number % of_slice, tiles_m, tiles_n));
  };
  const auto part_number = [&](int number, int consumer, int sender) {
    return parts.number(sender, number % of_slice,
                        blockIdx.x % Pipeline::kCluster * kParts + (kParts == 1 ? 0 : consumer));
  };
  const auto part_at = [](int part) {
    return static_cast<long long>(part) * (Sums::kBytes / sizeof(Partial));
  };
  const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;
  const unsigned staging = shared_address(shared) + Pipeline::kBytes;

  if (warpgroup == CONSUMERS) {
    lower_registers<PRODUCER_REGISTERS>();
    if (thread == 0) {
      for (int number = first; number < end; number += stride) {
        TileOrigin tile = tile_at(number);
        tile.row += slice_at(number) * rows;
        pipeline.fill(&a_map, &b_map, tile, 0, steps);
      }
    } else if (kPushes && thread / 32 >= 1 && thread / 32 <= CONSUMERS) {
      const int consumer = thread / 32 - 1;
      arrive_threads(kSent + consumer, 160);
      int turn = 0;
      for (int number = first; number < end; number += stride) {
        const int slice = slice_at(number);
        if (WORK == pingpong && turn++ % 2 != consumer || slice == rank) continue;
        sync_threads(kStaged + consumer, 160);
        if (thread % 32 == 0) {
          const int part = part_number(number, consumer, place_among_others(rank, slice));
          char* const to = reinterpret_cast<char*>(incoming[slice] + part_at(part));
          for (int at = 0; at < Sums::kBytes; at += PIECE) {
            copy_bytes_out(to + at, staging + consumer * kStaging + at, min(PIECE, Sums::kBytes - at));
            commit_stores();
            wait_until_stores_are_written<0>();
          }
          order_with_bulk_copies();
          store_release_system(arrived[slice] + part, 1);
        }
        __syncwarp();
        arrive_threads(kSent + consumer, 160);
      }
    }
  } else {
    raise_registers<CONSUMER_REGISTERS>();
    pipeline.begin(warpgroup);
    Product product;
    const unsigned own_staging = staging + warpgroup * kStaging;
    int turn = 0;
    bool sending = kPushes;  // what was staged last may be on its way
    for (int number = first; number < end; number += stride) {
      if (WORK == pingpong && turn++ % 2 != warpgroup) {
        pipeline.skip(steps);
        continue;
      }
      pipeline.multiply(product, warpgroup, steps);

      const int slice = slice_at(number);
      if (kAdds && slice != rank) {
        if constexpr (kPushes) {
          sync_threads(kSent + warpgroup, 160);
          Sums::stage(product, own_staging, thread);
          show_copies_to_tensor_cores();
          arrive_threads(kStaged + warpgroup, 160);
        } else {
          Sums::store(product,
                      outgoing + part_at(part_number(number, warpgroup, place_among_others(slice, rank))),
                      thread);
        }
        continue;
      }
      if constexpr (kAdds) {
        for (int sender = 0; sender < slices - 1; ++sender) {
          const int part = part_number(number, warpgroup, sender);
          if (thread == 0) {
            const int chunk = number % of_slice / (of_slice / chunks);
            unsigned* const word = arrived[rank] + (kPushes ? part : sender * chunks + chunk);
            wait_for_word(word, 1);
            if (kPushes) *word = 0;
          }
          sync_threads(3 + warpgroup, 128);
          Sums::add(product, incoming[rank] + part_at(part), thread);
        }
      }
      if (sending) sync_threads(kSent + warpgroup, 160);
      sending = false;
      TileOrigin part = Pipeline::own_part(tile_at(number), warpgroup);
      if constexpr (!kAdds) part.row += slice * rows;
      const Finish<identity, Out, float> finish{alpha, 0, nullptr, C, kAdds ? rows : rows * slices, N, N};
      if constexpr (STORE == registers) {
        static_assert(!Pipeline::kTransposed, "a thread's neighbours are neighbours in a column");
        product.template store<true>(finish, part.row, part.column, thread);
      } else {
        finish_tile<Pipeline::kTransposed, Pipeline::kRows, Pipeline::kN>(finish, product.sum, part.row,
                                                                          part.column, thread);
        Boxes::store(product, &c_map, part.row, part.column, own_staging, 3 + warpgroup, thread);
      }
    }
    if (sending) sync_threads(kSent + warpgroup, 160);
    if constexpr (STORE != registers) wait_until_stores_have_read<0>();
  }
  pipeline.leave();
  if (TRANSFER == copy_engine && order.has_own())
    clear_by_last_block(arrived[rank], (slices - 1) * chunks, left);
}
