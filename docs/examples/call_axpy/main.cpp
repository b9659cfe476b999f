#include <cuda_runtime.h>
#include <tuned/tuned.h>

int main() {
  float *x = nullptr, *y = nullptr;
  cudaMalloc(&x, 1000003 * sizeof(float));
  cudaMalloc(&y, 1000003 * sizeof(float));
  const tuned::Status status = tuned::axpy_f32(nullptr, 1000003, x, y, 2.0);
  return status && cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
