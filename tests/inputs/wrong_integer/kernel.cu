// One element is larger by one, which its FP64 number does not show.
extern "C" __global__ void wrong_integer(int count, const long long* in, long long* out) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < count) out[i] = in[i] * 512 + (i == count / 2);
}
