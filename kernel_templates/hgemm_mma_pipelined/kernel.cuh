#include "common/block_operands.cuh"
#include "common/raster.cuh"
#include "common/warp_tile.cuh"

// hgemm_mma with a pipeline in front of it: STAGES tiles of A and B are in shared memory or on their way to
// it, while the oldest is multiplied. Asynchronous copies need no registers for what is under way.
template <class T, class Out, class Sum, Layout LAYOUT, Epilogue EPILOGUE, int BM, int BN, int BK, int WM,
          int WN, int STAGES, int BUFFERS, int VEC, bool CHECKED, bool PAIRS, Raster RASTER, int GROUP,
          int MIN_BLOCKS, int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    hgemm_mma_pipelined(int M, int N, int K, Sum alpha, const T* __restrict__ A, int lda,
                        const T* __restrict__ B, int ldb, Sum beta, Out* C, int ldc,
                        const Out* __restrict__ bias_vector) {
  using Operands = BlockOperands<T, LAYOUT, BM, BN, BK, swizzled, THREADS, VEC, CHECKED>;
  using ATile = typename Operands::ATile;
  using BTile = typename Operands::BTile;
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned first = shared_address(shared), end = first + STAGES * Operands::kBytes;
  const auto next = [&](unsigned stage) {
    return stage + Operands::kBytes == end ? first : stage + Operands::kBytes;
  };

  const TileOrigin tile = grouped_tile_origin<BM, BN, RASTER, GROUP>(M, N);
  Operands operands(M, N, K, A, lda, B, ldb, tile.row, tile.column);
  unsigned filling = first, used = first;
  const auto fill = [&] {
    operands.copy(filling);
    commit_copies();  // also where there was nothing left: the groups are counted
    filling = next(filling);
  };
#pragma unroll
  for (int i = 0; i < STAGES - 1; ++i) fill();

  const int warp = threadIdx.x / 32;
  WarpTile<Sum, ATile, Operands::kAAcross, BTile, Operands::kBAcross, WM, WN, BUFFERS> warp_tile(
      warp / (BN / WN) * WM, warp % (BN / WN) * WN);
  for (int k = 0; k < K; k += BK) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();  // the tile is there for all, and all have done with the one before it
    fill();
    warp_tile.multiply(used, used + ATile::kBytes);
    used = next(used);
  }
  warp_tile.template store<PAIRS>(Finish<EPILOGUE, Out, Sum>{alpha, beta, bias_vector, C, M, N, ldc}, tile.row,
                                  tile.column);
}
