#include "common/box_operands.cuh"
#include "common/raster.cuh"
#include "common/warpgroup_tile.cuh"

// hgemm_tma with the roles apart: one warp of a warpgroup of its own asks for tiles as soon as a stage is free,
// the other warpgroups multiply as soon as one is full, and nobody waits for a whole block. Two barriers per
// stage say so: `full` counts bytes, `empty` counts the warpgroups that have done with it. The asking threads
// give their registers to those that hold sums.
template <class T, class Out, Layout LAYOUT, Epilogue EPILOGUE, int BM, int BN, int CONSUMERS, int STAGES,
          bool PAIRS, Raster RASTER, int GROUP, int PRODUCER_REGISTERS, int CONSUMER_REGISTERS,
          int THREADS = (CONSUMERS + 1) * 128>
__global__ void __launch_bounds__(THREADS, 1)
    hgemm_specialized(int M, int N, int K, Sum<T> alpha, Sum<T> beta, Out* C, int ldc,
                      const Out* __restrict__ bias_vector, const __grid_constant__ TensorMap a_map,
                      const __grid_constant__ TensorMap b_map) {
  using Operands = BoxOperands<T, LAYOUT, BM, BN>;
  constexpr int kRows = BM / CONSUMERS;
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ unsigned long long barriers[2 * STAGES];
  const unsigned stages = shared_address(shared), full = shared_address(barriers), empty = full + STAGES * 8;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      init_barrier(full + i * 8, 1);
      init_barrier(empty + i * 8, CONSUMERS);
    }
    publish_barriers();
  }
  __syncthreads();

  const TileOrigin tile = grouped_tile_origin<BM, BN, RASTER, GROUP>(M, N);
  const int tiles = (K - 1) / Operands::kDepth + 1;
  const int warpgroup = threadIdx.x / 128;
  int stage = 0, parity = 0;
  const auto go_on = [&] {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  };
  if (warpgroup == CONSUMERS) {
    lower_registers<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS * 128) {
      for (int i = 0; i < tiles; ++i, go_on()) {
        wait_for_phase(empty + stage * 8, parity ^ 1);  // at once in the first round
        Operands::copy(stages + stage * Operands::kBytes, full + stage * 8, &a_map, &b_map, tile.row,
                       tile.column, i * Operands::kDepth);
      }
    }
  } else {
    raise_registers<CONSUMER_REGISTERS>();
    WarpgroupTile<T, Operands::kAAcross, Operands::kBAcross, kRows, BN> product;
    int before = 0;  // the stage of the tile before
    for (int i = 0; i < tiles; ++i, go_on()) {
      wait_for_phase(full + stage * 8, parity);
      const unsigned tiles_at = stages + stage * Operands::kBytes;
      product.start(tiles_at + warpgroup * kRows * 128, tiles_at + Operands::kABytes, i > 0);
      wait_for_products<1>();
      if (i > 0 && threadIdx.x % 128 == 0) arrive(empty + before * 8);
      before = stage;
    }
    product.finish();
    product.template store<PAIRS>(Finish<EPILOGUE, Out, Sum<T>>{alpha, beta, bias_vector, C, M, N, ldc},
                                  tile.row + warpgroup * kRows, tile.column, threadIdx.x % 128);
  }
}
