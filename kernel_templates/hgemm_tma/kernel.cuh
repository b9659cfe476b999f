#include "common/box_operands.cuh"
#include "common/raster.cuh"
#include "common/warpgroup_tile.cuh"

// hgemm_wgmma with the Tensor Memory Accelerator: one thread asks for whole tiles, which arrive swizzled and
// with zeros beyond the matrix, and a barrier in shared memory counts their bytes. No thread computes addresses
// any more. What is left is that everybody waits for everybody: the thread that asks, and the warpgroups.
template <class T, class Out, Layout LAYOUT, Epilogue EPILOGUE, int BM, int BN, int WARPGROUPS, int STAGES,
          bool PAIRS, Raster RASTER, int GROUP, int MIN_BLOCKS, int THREADS = WARPGROUPS * 128>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    hgemm_tma(int M, int N, int K, Sum<T> alpha, Sum<T> beta, Out* C, int ldc,
              const Out* __restrict__ bias_vector, const __grid_constant__ TensorMap a_map,
              const __grid_constant__ TensorMap b_map) {
  using Operands = BoxOperands<T, LAYOUT, BM, BN>;
  constexpr int kRows = BM / WARPGROUPS;
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ unsigned long long barriers[STAGES];
  const unsigned stages = shared_address(shared), full = shared_address(barriers);
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) init_barrier(full + i * 8, 1);
    publish_barriers();
  }
  __syncthreads();

  const TileOrigin tile = grouped_tile_origin<BM, BN, RASTER, GROUP>(M, N);
  const int tiles = (K - 1) / Operands::kDepth + 1;
  const auto fill = [&](int number, int stage) {
    if (threadIdx.x == 0 && number < tiles)
      Operands::copy(stages + stage * Operands::kBytes, full + stage * 8, &a_map, &b_map, tile.row, tile.column,
                     number * Operands::kDepth);
  };
  for (int i = 0; i < STAGES - 1; ++i) fill(i, i);

  const int warpgroup = threadIdx.x / 128;
  WarpgroupTile<T, Operands::kAAcross, Operands::kBAcross, kRows, BN> product;
  int stage = 0, parity = 0;
  for (int i = 0; i < tiles; ++i) {
    wait_for_phase(full + stage * 8, parity);
    const unsigned tiles_at = stages + stage * Operands::kBytes;
    product.start(tiles_at + warpgroup * kRows * 128, tiles_at + Operands::kABytes, i > 0);
    wait_for_products<1>();
    __syncthreads();  // all have done with the tile before this one
    fill(i + STAGES - 1, stage == 0 ? STAGES - 1 : stage - 1);
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  product.finish();
  product.template store<PAIRS>(Finish<EPILOGUE, Out, Sum<T>>{alpha, beta, bias_vector, C, M, N, ldc},
                                tile.row + warpgroup * kRows, tile.column, threadIdx.x % 128);
}
