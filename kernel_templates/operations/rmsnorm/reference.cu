constexpr int kThreads = 256;

// One block of 256 threads per row.
extern "C" __global__ void rmsnorm_reference(int columns, double eps, const double* in, const double* weight,
                                             double* out) {
  __shared__ double sums[kThreads];
  in += static_cast<long long>(blockIdx.x) * columns;
  out += static_cast<long long>(blockIdx.x) * columns;
  double sum = 0;
  for (int column = threadIdx.x; column < columns; column += kThreads) sum += in[column] * in[column];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  const double root = sqrt(sums[0] / columns + eps);
  for (int column = threadIdx.x; column < columns; column += kThreads)
    out[column] = in[column] / root * weight[column];
}
