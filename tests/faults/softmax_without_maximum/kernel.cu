extern "C" __global__ void softmax_without_maximum(int columns, const float* in, float* out) {
  __shared__ float sums[THREADS];
  const float* const row = in + static_cast<long long>(blockIdx.x) * columns;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += THREADS) sum += expf(row[i]);
  sums[threadIdx.x] = sum;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += THREADS)
    out[static_cast<long long>(blockIdx.x) * columns + i] = expf(row[i]) / sums[0];
}
