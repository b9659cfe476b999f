#pragma once

#include "common/gemm.cuh"

// In which order thread blocks take the tiles of C. Blocks that run at the same time read the same rows of A
// and columns of B from the L2 cache when their tiles lie close together.

// Which way the tiles of neighbouring blocks lie: in a row of C, in a column, or along a Hilbert curve
// (persistent.cuh).
enum Raster { along_n, along_m, hilbert };

/// First row and column of BM x BN tile number `tile`. The order goes along N (or M) in bands GROUP tiles
/// wide; within a band it takes all tiles across the band before it goes on. GROUP == 1: plain rows (or
/// columns).
template <int BM, int BN, Raster RASTER, int GROUP>
__device__ __forceinline__ TileOrigin grouped_tile_origin(int M, int N, unsigned tile = blockIdx.x) {
  static_assert(RASTER != hilbert, "place_of_tile has it");
  const unsigned tile_rows = (M - 1) / BM + 1, tile_columns = (N - 1) / BN + 1;
  const unsigned length = RASTER == along_n ? tile_columns : tile_rows;  // of a band
  const unsigned lines = RASTER == along_n ? tile_rows : tile_columns;   // of all bands together
  const unsigned band = tile / (GROUP * length), within = tile % (GROUP * length);
  const unsigned width = min(lines - band * GROUP, static_cast<unsigned>(GROUP));  // the last may be narrower
  const int line = static_cast<int>(band * GROUP + within % width);
  const int place = static_cast<int>(within / width);
  return RASTER == along_n ? TileOrigin{line * BM, place * BN} : TileOrigin{place * BM, line * BN};
}
