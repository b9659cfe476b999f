extern "C" __global__ void r(const double* in, const double* weights, double* out, int n) {
  __shared__ double sums[256];
  double sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += in[i] * weights[i % 16];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < 256; ++i) sum += sums[i];
  *out = sum;
}
