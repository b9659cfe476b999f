#ifndef THREADS
#define THREADS 256
#endif

__global__ void axpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
