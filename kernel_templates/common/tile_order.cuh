#pragma once

/// The order in which blocks take the tiles of a matrix: along its rows or along its columns.
enum TileOrder { along_rows, along_columns };

/// First row and column of the block's tile.
struct TileStart {
  int row;
  int column;
};

/// For a grid of one dimension with a block per tile.
template <TileOrder ORDER, int TILE_ROWS, int TILE_COLUMNS>
__device__ __forceinline__ TileStart tile_start(int rows, int columns) {
  const unsigned tiles_down = (rows - 1u) / TILE_ROWS + 1;
  const unsigned tiles_across = (columns - 1u) / TILE_COLUMNS + 1;
  const unsigned row = ORDER == along_rows ? blockIdx.x / tiles_across : blockIdx.x % tiles_down;
  const unsigned column = ORDER == along_rows ? blockIdx.x % tiles_across : blockIdx.x / tiles_down;
  return {static_cast<int>(row * TILE_ROWS), static_cast<int>(column * TILE_COLUMNS)};
}
