struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

// A tile of C is 32 x 32; each of the 32 x 8 threads has every eighth row of a column.
constexpr int kTile = 32;
constexpr unsigned kTileBytes = kTile * kTile * 4;

// Where the element lies in a tile of 128-byte rows, whose 16-byte pieces are permuted within eight rows.
__device__ int place(int row, int column) {
  const int piece = SWIZZLED ? (column / 4) ^ (row % 8) : column / 4;
  return row * kTile + piece * 4 + column % 4;
}

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

#if TMA
__device__ void begin_copy(const TensorMap& map, float* tile, unsigned long long* barrier, int k, int row) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(kTileBytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(tile)),
      "l"(&map), "r"(k), "r"(row), "r"(shared_address(barrier))
      : "memory");
}

__device__ void await_copy(unsigned long long* barrier, unsigned phase) {
  asm volatile(
      "{\n .reg .pred done;\n again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      " @!done bra again;\n}" ::"r"(shared_address(barrier)),
      "r"(phase)
      : "memory");
}
#endif

extern "C" __global__ void tma_tile(const __grid_constant__ TensorMap map, int M, int N, int K, int TILES, const float* A,
                                    const float* B, float* C) {
  __shared__ alignas(1024) float tile[kTile * kTile];
  __shared__ unsigned long long barrier;
  const bool is_first = threadIdx.x == 0 && threadIdx.y == 0;
  const int tiles_per_row = (N - 1) / kTile + 1;
#if TMA
  if (is_first) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  unsigned phase = 0;
#endif
  for (int t = blockIdx.x; t < TILES; t += gridDim.x) {
    const int first_row = t / tiles_per_row * kTile;
    const int column = t % tiles_per_row * kTile + threadIdx.x;
    float sums[4] = {};
    for (int k = 0; k < K; k += kTile) {
#if TMA
      if (is_first) begin_copy(map, tile, &barrier, k, first_row);
      await_copy(&barrier, phase);
      phase ^= 1;
#else
      for (int i = threadIdx.y; i < kTile; i += 8) {
        const int from = k + threadIdx.x;
        tile[place(i, threadIdx.x)] = first_row + i < M && from < K ? A[(first_row + i) * K + from] : 0.0f;
      }
      __syncthreads();
#endif
      for (int j = 0; j < min(kTile, K - k); ++j) {
        const float b = column < N ? B[(k + j) * N + column] : 0.0f;
        for (int i = 0; i < 4; ++i) sums[i] += tile[place(threadIdx.y + 8 * i, j)] * b;
      }
      __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
      const int row = first_row + threadIdx.y + 8 * i;
      if (row < M && column < N) C[row * N + column] = sums[i];
    }
  }
}
