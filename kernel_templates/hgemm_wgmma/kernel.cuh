#include "common/block_operands.cuh"
#include "common/raster.cuh"
#include "common/warpgroup_tile.cuh"

// wgmma: four warps multiply together, straight from shared memory, while their threads go on. There are no
// fragments to read, so registers hold nothing but sums. Tiles come by asynchronous copies of all threads, of
// any alignment. Stages are read by the hardware, so a stage is filled again when the products of the tile
// before last are done, and everybody has said so.
template <class T, class Out, Layout LAYOUT, Epilogue EPILOGUE, int BM, int BN, int WARPGROUPS, int STAGES,
          int VEC, bool CHECKED, bool PAIRS, Raster RASTER, int GROUP, int MIN_BLOCKS,
          int THREADS = WARPGROUPS * 128>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    hgemm_wgmma(int M, int N, int K, Sum<T> alpha, const T* __restrict__ A, int lda, const T* __restrict__ B,
                int ldb, Sum<T> beta, Out* C, int ldc, const Out* __restrict__ bias_vector) {
  constexpr int kRows = BM / WARPGROUPS, BK = 128 / sizeof(T);
  using Operands = BlockOperands<T, LAYOUT, BM, BN, BK, blocks, THREADS, VEC, CHECKED>;
  using Product = WarpgroupTile<T, Operands::kAAcross, Operands::kBAcross, kRows, BN>;
  static_assert(STAGES >= 3, "one is multiplied, one was, one is filled");
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
  for (int i = 0; i < STAGES - 2; ++i) fill();

  const int warpgroup = threadIdx.x / 128;
  const unsigned own_rows = Product::template offset<Operands::kAAcross>(warpgroup * kRows);
  Product product;
  for (int k = 0; k < K; k += BK) {
    wait_for_copies<STAGES - 3>();
    show_copies_to_tensor_cores();
    __syncthreads();
    product.start(used + own_rows, used + Operands::ATile::kBytes, k > 0);
    fill();
    wait_for_products<1>();
    used = next(used);
  }
  product.finish();
  product.template store<PAIRS>(Finish<EPILOGUE, Out, Sum<T>>{alpha, beta, bias_vector, C, M, N, ldc},
                                tile.row + warpgroup * kRows, tile.column, threadIdx.x % 128);
}
