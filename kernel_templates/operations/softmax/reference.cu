constexpr int kThreads = 256;

/// The largest value of the block, or the sum of all. Every thread gets it.
__device__ double over_block(double value, bool sum) {
  __shared__ double values[kThreads];
  __syncthreads();  // the values of the call before have been read
  values[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const double other = values[threadIdx.x + half];
      values[threadIdx.x] = sum ? values[threadIdx.x] + other : fmax(values[threadIdx.x], other);
    }
    __syncthreads();
  }
  return values[0];
}

// One block of 256 threads per row.
extern "C" __global__ void softmax_reference(int columns, const double* in, double* out) {
  in += static_cast<long long>(blockIdx.x) * columns;
  out += static_cast<long long>(blockIdx.x) * columns;
  double maximum = in[0];
  for (int column = threadIdx.x; column < columns; column += kThreads) maximum = fmax(maximum, in[column]);
  maximum = over_block(maximum, false);
  double sum = 0;
  for (int column = threadIdx.x; column < columns; column += kThreads) sum += exp(in[column] - maximum);
  sum = over_block(sum, true);
  for (int column = threadIdx.x; column < columns; column += kThreads)
    out[column] = exp(in[column] - maximum) / sum;
}
