#include <cuda_fp16.h>

struct Parts {
  float high, low;
};

__device__ Parts parts_of(float value) {
  const float high = __half2float(__float2half_rn(value));
  const float scale = 2048.0f;
  return {high, __half2float(__float2half_rn((value - high) * scale)) / scale};
}

extern "C" __global__ void limited_range(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * ROWS + threadIdx.y;
  const int column = blockIdx.x * 32 + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    const Parts a = parts_of(A[row * K + k]);
    const Parts b = parts_of(B[k * N + column]);
    sum += a.high * b.high + (a.high * b.low + a.low * b.high);
  }
  C[row * N + column] = sum;
}
