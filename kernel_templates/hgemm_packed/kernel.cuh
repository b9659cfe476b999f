#include "common/box_pipeline.cuh"
#include "common/dependent_launch.cuh"
#include "common/line_store.cuh"
#include "common/pack.cuh"
#include "common/persistent.cuh"

// Tensor maps describe matrices whose lines start on 16-byte boundaries. Of an operand whose lines do not, a
// first launch makes a copy that does, and the kernel of hgemm_persistent takes its map in place of the
// operand's. That costs reading and writing the operand once, as long as some dozen steps of the product:
// little where the matrices are large, and less than copies of 2 or 4 bytes per thread cost in each tile
// (hgemm_wgmma).
//
// Nothing but the operand is copied, and the map ends with it: what lies between its lines, NaN for instance,
// is not read, and the copy's lines may be followed by anything.
//
// OVERLAP: the second launch begins while the first one packs. Its producers wait before they ask for tiles; all
// that is before that costs no time.

/// The first launch: the first `a_blocks` blocks pack A, the others B.
template <class T, int THREADS, int LINES, int A_VEC, int B_VEC, bool OVERLAP>
__global__ void __launch_bounds__(THREADS)
    pack_operands(int a_lines, int a_length, const T* __restrict__ A, int lda, T* __restrict__ packed_a,
                  int a_pitch, int b_lines, int b_length, const T* __restrict__ B, int ldb,
                  T* __restrict__ packed_b, int b_pitch, int a_blocks) {
  if constexpr (OVERLAP) let_next_kernel_begin();
  const int block = blockIdx.x;
  if (block < a_blocks)
    pack_lines<THREADS, LINES, A_VEC>(A, a_lines, a_length, lda, packed_a, a_pitch, block);
  else
    pack_lines<THREADS, LINES, B_VEC>(B, b_lines, b_length, ldb, packed_b, b_pitch, block - a_blocks);
}

/// How C leaves: straight from registers; through shared memory in boxes, or in pieces of 16 bytes.
enum Store { registers, boxes, lines };

/// The second launch. PACK_A, PACK_B: the operand's map is that of its copy.
template <class T, class Out, Layout LAYOUT, Epilogue EPILOGUE, bool PACK_A, bool PACK_B, int BM, int BN,
          int STAGES, int CLUSTER_M, int CLUSTER_N, int CONSUMERS, Side SIDE, Work WORK, Store STORE,
          bool PAIRS, Raster RASTER, int GROUP, bool OVERLAP, int PRODUCER_REGISTERS, int CONSUMER_REGISTERS>
__global__ void __cluster_dims__(CLUSTER_M* CLUSTER_N, 1, 1) __launch_bounds__((CONSUMERS + 1) * 128, 1)
    hgemm_packed(int M, int N, int K, Sum<T> alpha, Sum<T> beta, Out* C, int ldc,
                 const Out* __restrict__ bias_vector, const __grid_constant__ TensorMap a_map,
                 const __grid_constant__ TensorMap b_map, const __grid_constant__ TensorMap packed_a_map,
                 const __grid_constant__ TensorMap packed_b_map, const __grid_constant__ TensorMap c_map) {
  using Pipeline =
      BoxPipeline<T, LAYOUT, BM, BN, STAGES, CLUSTER_M, CLUSTER_N, CONSUMERS, SIDE, WORK, normal, normal>;
  static_assert(WORK != pingpong, "consumers share each tile here");
  extern __shared__ __align__(1024) unsigned char shared[];
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
      if constexpr (OVERLAP) wait_for_previous_kernel();
      for (int number = first; number < tiles; number += stride)
        pipeline.fill(PACK_A ? &packed_a_map : &a_map, PACK_B ? &packed_b_map : &b_map, tile_at(number), 0,
                      steps);
    }
  } else {
    raise_registers<CONSUMER_REGISTERS>();
    typename Pipeline::Product product;
    for (int number = first; number < tiles; number += stride) {
      pipeline.multiply(product, warpgroup, steps);

      const TileOrigin part = Pipeline::own_part(tile_at(number), warpgroup);
      const Finish<EPILOGUE, Out, Sum<T>> finish{alpha, beta, bias_vector, C, M, N, ldc};
      static_assert(SIDE == m_side || STORE == boxes, "a thread's neighbours are neighbours in a row");
      constexpr int kRows = Pipeline::kRows, kN = Pipeline::kN;
      const unsigned staging = shared_address(shared) + Pipeline::kBytes;
      if constexpr (STORE != registers)
        finish_tile<SIDE == n_side, kRows, kN>(finish, product.sum, part.row, part.column, thread);
      if constexpr (STORE == registers) {
        product.template store<PAIRS>(finish, part.row, part.column, thread);
      } else if constexpr (STORE == lines) {
        using Lines = LineStore<Out, typename Pipeline::Product, kRows, kN>;
        Lines::store(product, finish, part.row, part.column, staging + warpgroup * Lines::kBytes, thread);
      } else {
        using Boxes = BoxStore<Out, typename Pipeline::Product, kRows, kN, SIDE == n_side, false>;
        Boxes::store(product, &c_map, part.row, part.column, staging + warpgroup * Boxes::kBytes,
                     3 + warpgroup, thread);
      }
    }
    if constexpr (STORE == boxes) wait_until_stores_have_read<0>();
  }
  pipeline.leave();
}
