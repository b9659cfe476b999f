// The softmax of each row, which a thread block holds in registers: what is read is written once.
__device__ inline float over_block(float value, bool is_sum) {
  __shared__ float of_warp[THREADS / 32];
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, distance);
    value = is_sum ? value + other : fmaxf(value, other);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warp[0];
  for (int warp = 1; warp < THREADS / 32; ++warp) value = is_sum ? value + of_warp[warp] : fmaxf(value, of_warp[warp]);
  return value;
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax_rows(const float4* in, float4* out) {
  constexpr int kQuads = COLUMNS / 4 / THREADS;
  const long long first = static_cast<long long>(blockIdx.x) * (COLUMNS / 4) + threadIdx.x;
  float4 values[kQuads];
  float largest = -1e30f;
#pragma unroll
  for (int k = 0; k < kQuads; ++k) {
    values[k] = in[first + k * THREADS];
    largest = fmaxf(largest, fmaxf(fmaxf(values[k].x, values[k].y), fmaxf(values[k].z, values[k].w)));
  }
  largest = over_block(largest, false);
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kQuads; ++k) {
    values[k] = {expf(values[k].x - largest), expf(values[k].y - largest), expf(values[k].z - largest), expf(values[k].w - largest)};
    sum += (values[k].x + values[k].y) + (values[k].z + values[k].w);
  }
  const float scale = 1.0f / over_block(sum, true);
#pragma unroll
  for (int k = 0; k < kQuads; ++k)
    out[first + k * THREADS] = {values[k].x * scale, values[k].y * scale, values[k].z * scale, values[k].w * scale};
}
