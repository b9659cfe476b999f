extern "C" __global__ void exchange_reference(const double* in, double* out, long long n) {
  const long long i = 256LL * blockIdx.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
