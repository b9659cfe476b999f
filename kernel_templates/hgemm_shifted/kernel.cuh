#include "common/box_pipeline.cuh"
#include "common/dependent_launch.cuh"
#include "common/line_store.cuh"
#include "common/pack.cuh"
#include "common/persistent.cuh"

// hgemm_packed without the copy of A. Rows of A start at any element, but every CLASSES-th row (2, 4 or 8)
// starts at the same place within 16 bytes. Such a class of rows has a tensor map of its own: its lines are
// CLASSES rows apart and begin on the 16-byte boundary before a row, `shift` elements early. A tile of C has
// rows of one class. Its products go along K as the map has it, so B is read `shift` rows earlier: rows
// before the first are zeros.
//
// The elements before a row are the end of another row, or lie beside A. They meet those zeros, and zero
// times infinity is NaN: consumers clear them in shared memory. B, whose lines lie along N here (nn), cannot
// be shifted in this way; where it has no tensor map it is packed.

/// The first launch. Where B needs no copy it does nothing. OVERLAP: the second one begins meanwhile.
template <class T, int THREADS, int LINES, int VEC, bool PACK_B, bool OVERLAP>
__global__ void __launch_bounds__(THREADS)
    pack_b(int lines, int length, const T* __restrict__ B, int ldb, T* __restrict__ packed_b, int pitch) {
  if constexpr (OVERLAP) let_next_kernel_begin();
  if constexpr (PACK_B) pack_lines<THREADS, LINES, VEC>(B, lines, length, ldb, packed_b, pitch, blockIdx.x);
}

/// Clears the first `count` of 16-bit elements in each of ROWS rows of a consumer's tile.
template <int ROWS>
__device__ __forceinline__ void clear_columns(unsigned rows, int count, int consumer, int thread) {
  if (count == 0) return;
  for (int row = thread; row < ROWS; row += 128) {
    const unsigned first = rows + row * 128 + row % 8 * 16;  // where the swizzle has the first chunk
    for (int i = 0; i < count; ++i)
      asm volatile("st.shared.u16 [%0], %1;" ::"r"(first + i * 2), "h"(static_cast<unsigned short>(0))
                   : "memory");
  }
  show_copies_to_tensor_cores();
  sync_threads(1 + consumer, 128);
}

/// How C leaves: straight from registers, or through shared memory in pieces of 16 bytes.
enum Store { registers, lines };

template <class T, class Out, Epilogue EPILOGUE, int CLASSES, bool PACK_B, int BM, int BN, int STAGES,
          int CLUSTER_M, int CLUSTER_N, int CONSUMERS, Store STORE, bool PAIRS, Raster RASTER, int GROUP,
          bool OVERLAP, int PRODUCER_REGISTERS, int CONSUMER_REGISTERS>
__global__ void __cluster_dims__(CLUSTER_M* CLUSTER_N, 1, 1) __launch_bounds__((CONSUMERS + 1) * 128, 1)
    hgemm_shifted(int M, int N, int K, float alpha, int lda, float beta, Out* C, int ldc,
                  const Out* __restrict__ bias_vector, const __grid_constant__ TensorMap a_map_0,
                  const __grid_constant__ TensorMap a_map_1, const __grid_constant__ TensorMap a_map_2,
                  const __grid_constant__ TensorMap a_map_3, const __grid_constant__ TensorMap a_map_4,
                  const __grid_constant__ TensorMap a_map_5, const __grid_constant__ TensorMap a_map_6,
                  const __grid_constant__ TensorMap a_map_7, const __grid_constant__ TensorMap b_map,
                  const __grid_constant__ TensorMap packed_b_map) {
  using Pipeline =
      BoxPipeline<T, nn, BM, BN, STAGES, CLUSTER_M, CLUSTER_N, CONSUMERS, m_side, by_rows, normal, normal>;
  extern __shared__ __align__(1024) unsigned char shared[];
  Pipeline pipeline(shared_address(shared));

  /// What a cluster computes at a time: rows of one class.
  struct ClassTile {
    int row_class, shift, rows;  ///< rows: of the class, in all of C
    TileOrigin tile;             ///< the first row is counted within the class
    bool exists;                 ///< the cluster has a row of C in it
  };
  const int tiles_of_class = ((M - 1) / CLASSES) / (BM * CLUSTER_M) + 1;
  const int tiles_m = tiles_of_class * CLASSES, tiles_n = (N - 1) / (BN * CLUSTER_N) + 1;
  const auto work_at = [&](int number) {
    const TileOrigin place = place_of_tile<RASTER, GROUP>(number, tiles_m, tiles_n);
    ClassTile work;
    work.row_class = place.row % CLASSES;
    work.shift = static_cast<int>(static_cast<long long>(work.row_class) * lda % 8);
    work.rows = (M - work.row_class + CLASSES - 1) / CLASSES;
    work.tile = pipeline.tile_at({place.row / CLASSES, place.column});
    work.exists = place.row / CLASSES * (BM * CLUSTER_M) < work.rows;
    return work;
  };
  const auto steps_of = [&](const ClassTile& work) { return (K + work.shift - 1) / Pipeline::kDepth + 1; };
  const int first = blockIdx.x / Pipeline::kCluster, stride = gridDim.x / Pipeline::kCluster;
  const int tiles = tiles_m * tiles_n, warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;

  if (warpgroup == CONSUMERS) {
    lower_registers<PRODUCER_REGISTERS>();
    if (thread == 0) {
      if constexpr (OVERLAP) wait_for_previous_kernel();
      const TensorMap* const a_maps[] = {&a_map_0, &a_map_1, &a_map_2, &a_map_3,
                                         &a_map_4, &a_map_5, &a_map_6, &a_map_7};
      for (int number = first; number < tiles; number += stride) {
        const ClassTile work = work_at(number);
        if (work.exists)
          pipeline.fill(a_maps[work.row_class], PACK_B ? &packed_b_map : &b_map, work.tile, 0, steps_of(work),
                        work.shift);
      }
    }
  } else {
    raise_registers<CONSUMER_REGISTERS>();
    typename Pipeline::Product product;
    for (int number = first; number < tiles; number += stride) {
      const ClassTile work = work_at(number);
      if (!work.exists) continue;
      pipeline.multiply(product, warpgroup, steps_of(work), [&](unsigned rows) {
        clear_columns<Pipeline::kRows>(rows, work.shift, warpgroup, thread);
      });
      const TileOrigin part = Pipeline::own_part(work.tile, warpgroup);
      Out* const first_row = C + static_cast<long long>(work.row_class) * ldc;
      const Finish<EPILOGUE, Out, float> finish{alpha,     beta, bias_vector,  first_row,
                                                work.rows, N,    ldc * CLASSES};
      if constexpr (STORE == registers) {
        product.template store<PAIRS>(finish, part.row, part.column, thread);
      } else {
        using Lines = LineStore<Out, typename Pipeline::Product, Pipeline::kRows, BN>;
        finish_tile<false, Pipeline::kRows, BN>(finish, product.sum, part.row, part.column, thread);
        Lines::store(product, finish, part.row, part.column,
                     shared_address(shared) + Pipeline::kBytes + warpgroup * Lines::kBytes, thread);
      }
    }
  }
  pipeline.leave();
}
