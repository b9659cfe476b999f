// A thread block per row. THREADS, VEC: macros.

struct alignas(4 * VEC) Vector {
  float values[VEC];
};

__device__ float sum_of_block(float sum) {
  __shared__ float sums[32];
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  __syncthreads();
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  float total = 0;
  for (int warp = 0; warp < THREADS / 32; ++warp) total += sums[warp];
  return total;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    layernorm(int columns, float eps, const float* in, const float* gamma, const float* beta, float* out) {
  const long long row = static_cast<long long>(blockIdx.x) * columns;
  const auto* const vectors = reinterpret_cast<const Vector*>(in + row);
  float sum = 0;
  for (int i = threadIdx.x; i < columns / VEC; i += THREADS)
    for (int j = 0; j < VEC; ++j) sum += vectors[i].values[j];
  const float mean = sum_of_block(sum) / columns;
  float squares = 0;
  for (int i = threadIdx.x; i < columns / VEC; i += THREADS)
    for (int j = 0; j < VEC; ++j) squares += (vectors[i].values[j] - mean) * (vectors[i].values[j] - mean);
  const float scale = rsqrtf(sum_of_block(squares) / columns + eps);
  for (int i = threadIdx.x; i < columns / VEC; i += THREADS) {
    const Vector g = reinterpret_cast<const Vector*>(gamma)[i];
    const Vector b = reinterpret_cast<const Vector*>(beta)[i];
    Vector result = vectors[i];
    for (int j = 0; j < VEC; ++j) result.values[j] = (result.values[j] - mean) * scale * g.values[j] + b.values[j];
    reinterpret_cast<Vector*>(out + row)[i] = result;
  }
}
