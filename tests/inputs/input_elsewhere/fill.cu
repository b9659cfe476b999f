// One that writes into an input that is not its own.
extern "C" __global__ void fill(float* x, float* z, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) x[i] = z[i] = 1;
}
