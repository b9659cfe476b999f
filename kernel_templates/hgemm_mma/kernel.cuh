#include "common/block_operands.cuh"
#include "common/raster.cuh"
#include "common/warp_tile.cuh"

// A block tile in shared memory, multiplied by warps with mma.sync. The lesson is STORAGE: ldmatrix reads eight
// lines of 16 bytes at a time, which take eight wavefronts where they lie in the same banks (plain), and one
// where each line is 16 bytes longer than the one before it (padded) or where chunks change places from line
// to line (swizzled), which costs no memory.
template <class T, class Out, class Sum, Layout LAYOUT, Epilogue EPILOGUE, int BM, int BN, int BK, int WM,
          int WN, Storage STORAGE, int VEC, bool CHECKED, bool PAIRS, int MIN_BLOCKS,
          int THREADS = (BM / WM) * (BN / WN) * 32>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    hgemm_mma(int M, int N, int K, Sum alpha, const T* __restrict__ A, int lda, const T* __restrict__ B, int ldb,
              Sum beta, Out* C, int ldc, const Out* __restrict__ bias_vector) {
  using Operands = BlockOperands<T, LAYOUT, BM, BN, BK, STORAGE, THREADS, VEC, CHECKED>;
  using ATile = typename Operands::ATile;
  using BTile = typename Operands::BTile;
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned stage = shared_address(shared);

  const TileOrigin tile = tile_origin<BM, BN>(N);
  Operands operands(M, N, K, A, lda, B, ldb, tile.row, tile.column);
  const int warp = threadIdx.x / 32;
  WarpTile<Sum, ATile, Operands::kAAcross, BTile, Operands::kBAcross, WM, WN, 1> warp_tile(
      warp / (BN / WN) * WM, warp % (BN / WN) * WN);
  for (int k = 0; k < K; k += BK) {
    operands.copy(stage);
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
    warp_tile.multiply(stage, stage + ATile::kBytes);
    __syncthreads();
  }
  warp_tile.template store<PAIRS>(Finish<EPILOGUE, Out, Sum>{alpha, beta, bias_vector, C, M, N, ldc}, tile.row,
                                  tile.column);
}
