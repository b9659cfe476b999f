// LANES threads add up a row.
template <int THREADS, int LANES>
__global__ void __launch_bounds__(THREADS) spmv_csr(int rows, const int* offsets, const int* indices, const float* values,
                                                    const float* x, float* y) {
  const int row = (blockIdx.x * THREADS + threadIdx.x) / LANES;
  const int lane = threadIdx.x % LANES;
  float sum = 0;
  if (row < rows)
    for (int i = offsets[row] + lane; i < offsets[row + 1]; i += LANES) sum += values[i] * x[indices[i]];
  for (int step = LANES / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step, LANES);
  if (row < rows && lane == 0) y[row] = sum;
}
