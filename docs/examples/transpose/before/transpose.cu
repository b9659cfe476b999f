constexpr int kTile = 32;
constexpr int kRows = 8;

__global__ void transpose(int rows, int columns, const float* in, float* out) {
  __shared__ float tile[kTile][kTile];
  const int x = threadIdx.x;
  const int row0 = blockIdx.y * kTile;
  const int column0 = blockIdx.x * kTile;
  for (int y = threadIdx.y; y < kTile; y += kRows) {
    if (row0 + y < rows && column0 + x < columns)
      tile[y][x] = in[static_cast<long long>(row0 + y) * columns + column0 + x];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += kRows) {
    if (column0 + y < columns && row0 + x < rows)
      out[static_cast<long long>(column0 + y) * rows + row0 + x] = tile[x][y];
  }
}

void launch_transpose(int rows, int columns, const float* in, float* out, cudaStream_t stream) {
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose<<<grid, dim3(kTile, kRows), 0, stream>>>(rows, columns, in, out);
}
