extern "C" __global__ void sum_columns(const float* A, float* sums, int columns) {
  __shared__ float of_warp[8];
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256) sum += A[static_cast<long long>(blockIdx.x) * columns + i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < 8; ++warp) sum += of_warp[warp];
  sums[blockIdx.x] = sum;
}

extern "C" __global__ void add_sums(const float* const* sums, const float* received, float* y, int rows, int rank,
                                    int gpus) {
  const int row = 256 * blockIdx.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int gpu = 0; gpu < gpus; ++gpu) sum += LOADS ? sums[gpu][rank * rows + row] : received[gpu * rows + row];
  y[row] = sum;
}
