// A bulk copy whose box begins within a 16-byte piece of a row of A: the tensor map is right, the coordinate is not.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

extern "C" __global__ void illegal_instruction(const __grid_constant__ TensorMap map, int M, int N, int K,
                                               const float* A, const float* B, float* C) {
  __shared__ alignas(1024) float tile[32 * 8];
  __shared__ unsigned long long barrier;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(shared_address(&barrier)) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {1, 0}], [%2];" ::"r"(
            shared_address(tile)),
        "l"(&map), "r"(shared_address(&barrier))
        : "memory");
  }
  __syncthreads();
  asm volatile(
      "{\n .reg .pred done;\n again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      " @!done bra again;\n}" ::"r"(shared_address(&barrier))
      : "memory");
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
