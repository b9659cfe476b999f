// out = in transposed: in has rows x columns elements, out has columns x rows, both row-major.
// Macros: TILE, the edge of a block's tile; ROWS, how many of its rows are copied at a time; PAD, unused
// columns of the tile in shared memory.
extern "C" __global__ void __launch_bounds__(TILE* ROWS)
    transpose(int rows, int columns, const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float tile[TILE][TILE + PAD];
  const int x = threadIdx.x;
  const int row0 = blockIdx.y * TILE;
  const int column0 = blockIdx.x * TILE;
#pragma unroll
  for (int y = threadIdx.y; y < TILE; y += ROWS) {
    if (row0 + y < rows && column0 + x < columns)
      tile[y][x] = in[static_cast<long long>(row0 + y) * columns + column0 + x];
  }
  __syncthreads();
#pragma unroll
  for (int y = threadIdx.y; y < TILE; y += ROWS) {
    if (column0 + y < columns && row0 + x < rows)
      out[static_cast<long long>(column0 + y) * rows + row0 + x] = tile[x][y];
  }
}
