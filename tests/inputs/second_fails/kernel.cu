// The second of two launches ends in a trap.
__constant__ float d_weights[16];
template <int T> __global__ void partial(const float* in, float* partials) {
  __shared__ float shared[T];
  shared[threadIdx.x] = in[blockIdx.x * T + threadIdx.x] * d_weights[threadIdx.x % 16];
  __syncthreads();
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (int i = 0; i < T; ++i) sum += shared[i];
  partials[blockIdx.x] = sum;
}
__global__ void finish(const float* partials, float* out, int count) {
  __trap();
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += 32) sum += partials[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x == 0) *out = sum;
}
