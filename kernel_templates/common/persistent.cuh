#pragma once

#include "common/raster.cuh"

// Persistent thread blocks take one tile of C after another, which hides the beginning and the end of each
// tile behind its neighbours' products.

/// Where place `place` of a Hilbert curve through SIDE x SIDE points lies; SIDE is a power of two.
template <int SIDE>
__device__ __forceinline__ TileOrigin hilbert_point(unsigned place) {
  int x = 0, y = 0;
#pragma unroll
  for (int side = 1; side < SIDE; side *= 2) {
    const int right = place / 2 & 1, down = (place ^ right) & 1;
    if (down == 0) {
      if (right == 1) {
        x = side - 1 - x;
        y = side - 1 - y;
      }
      const int swapped = x;
      x = y;
      y = swapped;
    }
    x += side * right;
    y += side * down;
    place /= 4;
  }
  return {y, x};
}

/// Row and column of tile number `tile` among rows x columns tiles. hilbert: squares of GROUP x GROUP tiles
/// follow each other along N, each along a Hilbert curve; squares that the edges cut go along N.
template <Raster RASTER, int GROUP>
__device__ __forceinline__ TileOrigin place_of_tile(unsigned tile, int rows, int columns) {
  if constexpr (RASTER == hilbert) {
    const int band = tile / (GROUP * columns), height = min(rows - band * GROUP, GROUP);
    const unsigned within = tile - band * GROUP * columns;
    const int square = within / (GROUP * height), width = min(columns - square * GROUP, GROUP);
    const unsigned place = within - square * GROUP * height;
    const TileOrigin point = height == GROUP && width == GROUP
                                 ? hilbert_point<GROUP>(place)
                                 : TileOrigin{static_cast<int>(place) / width, static_cast<int>(place) % width};
    return {band * GROUP + point.row, square * GROUP + point.column};
  } else if constexpr (GROUP == 1) {
    // One division: what comes before a block's first copy counts where its only tile takes microseconds.
    const int length = RASTER == along_n ? columns : rows;
    const int line = static_cast<int>(tile) / length, place = static_cast<int>(tile) - line * length;
    return RASTER == along_n ? TileOrigin{line, place} : TileOrigin{place, line};
  } else {
    return grouped_tile_origin<1, 1, RASTER, GROUP>(rows, columns, tile);
  }
}
