constexpr int kThreads = 1024;

// Sums T of S; several loads are in flight, since one block reads everything.
template <class T, class S>
__device__ S sum_of(const T* in, long long n) {
  __shared__ S sums[kThreads];
  S sum = 0;
#pragma unroll 16
  for (long long i = threadIdx.x; i < n; i += kThreads) sum += in[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  return sums[0];
}

// One block of 1024 threads. The input is doubles or 32-bit integers; the output is a double where
// out_integer_bytes is 0, else an integer of that size, which wraps around.
extern "C" __global__ void reduction_reference(long long n, int in_is_integer, int out_integer_bytes,
                                               const void* in, void* out) {
  const double floating = in_is_integer ? 0 : sum_of<double, double>(static_cast<const double*>(in), n);
  const long long integer = in_is_integer ? sum_of<int, long long>(static_cast<const int*>(in), n) : 0;
  if (threadIdx.x > 0) return;
  if (out_integer_bytes == 0)
    *static_cast<double*>(out) = in_is_integer ? static_cast<double>(integer) : floating;
  else if (out_integer_bytes == 4)
    *static_cast<int*>(out) = static_cast<int>(integer);
  else
    *static_cast<long long*>(out) = integer;
}
