__device__ void wait_for(const unsigned* word) {
  unsigned value = 0;
  if (threadIdx.x == 0) {
    do {
      asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    } while (value == 0);
  }
  __syncthreads();
}

/// The thread block that ends last leaves all words zero.
__device__ void leave_zero(unsigned* arrived, int words) {
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(arrived + words, 1) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!is_last) return;
  for (int i = threadIdx.x; i <= words; i += blockDim.x) arrived[i] = 0;
}

extern "C" __global__ void exchange(const float* in, const float* const* peers, const float* gathered,
                                    unsigned* arrived, float* out, long long part, int rank, int gpus, int chunks) {
  const long long chunk = part / chunks;
  for (int step = 0; step < gpus * chunks; ++step) {
    const int gpu = (rank + step / chunks) % gpus;
    if (SIGNALS && gpu != rank) wait_for(arrived + gpu * chunks + step % chunks);
    const float* from = gpu == rank ? in : LOADS ? peers[gpu] : gathered + gpu * part;
    for (long long i = 256LL * blockIdx.x + threadIdx.x; i < chunk; i += 256LL * gridDim.x) {
      const long long at = step % chunks * chunk + i;
      out[gpu * part + at] = from[at];
    }
  }
  leave_zero(arrived, gpus * chunks);
}
