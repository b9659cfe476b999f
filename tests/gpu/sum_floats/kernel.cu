// Sums of the chunks of 4 * THREADS numbers that a thread block meets on its way through all of them. Nearly nothing is
// written: the time is that of reading.
extern "C" __global__ void __launch_bounds__(THREADS) sum_floats(int n, const float4* in, float* sums) {
  const int quads = n / 4;
  const int stride = gridDim.x * THREADS;
  constexpr int kTogether = 4;
  float sum = 0.0f;
  int i = blockIdx.x * THREADS + threadIdx.x;
  for (; i + (kTogether - 1) * stride < quads; i += kTogether * stride) {
    float4 values[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) values[k] = in[i + k * stride];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) sum += (values[k].x + values[k].y) + (values[k].z + values[k].w);
  }
  for (; i < quads; i += stride) sum += (in[i].x + in[i].y) + (in[i].z + in[i].w);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  __shared__ float of_warp[THREADS / 32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < THREADS / 32; ++warp) sum += of_warp[warp];
  sums[blockIdx.x] = sum;
}
