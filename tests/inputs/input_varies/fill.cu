// One that computes other values each time.
extern "C" __global__ void fill(float* x, float* z, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) x[i] = clock64() % 4096 + i;
}
