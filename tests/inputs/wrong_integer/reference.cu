extern "C" __global__ void wrong_integer_reference(int count, const long long* in, long long* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < count) out[i] = in[i] * 512;
}
