// Kernels that do one thing as fast as a GPU can: multiply and add from registers, copy, read shared memory. Every result
// reaches memory, so that none of the work can be left out.

typedef unsigned long long u64;
typedef unsigned int u32;

// Independent chains of one accumulator each; kSteps multiply-adds per chain in one turn of the loop, whose other
// instructions are to be few beside them. The operands come from memory: constants would be folded.
template <int kSteps>
__device__ inline void multiply_add(const float* operands, float* out, u32 turns) {
  constexpr int kChains = 16;
  const float factor = operands[threadIdx.x % 32];
  const float summand = operands[32 + threadIdx.x % 32];
  float sums[kChains];
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) sums[chain] = factor * chain;
#pragma unroll 1
  for (u32 turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) sums[chain] = fmaf(sums[chain], factor, summand);
    }
  }
  float sum = 0;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) sum += sums[chain];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(1024) multiply_add_256(const float* operands, float* out, u32 turns) {
  multiply_add<16>(operands, out, turns);
}

extern "C" __global__ void __launch_bounds__(1024) multiply_add_512(const float* operands, float* out, u32 turns) {
  multiply_add<32>(operands, out, turns);
}

// `count` is a multiple of four times the thread block's size.
extern "C" __global__ void __launch_bounds__(256) copy(const uint4* in, uint4* out, u64 count) {
  constexpr u32 kTogether = 4;
  const u64 tile = kTogether * blockDim.x;
  for (u64 first = blockIdx.x * tile + threadIdx.x; first < count; first += gridDim.x * tile) {
    uint4 values[kTogether];
#pragma unroll
    for (u32 i = 0; i < kTogether; ++i) values[i] = in[first + i * blockDim.x];
#pragma unroll
    for (u32 i = 0; i < kTogether; ++i) out[first + i * blockDim.x] = values[i];
  }
}

// A thread block's sum is never written: `in` holds zeros, which the compiler cannot know.
extern "C" __global__ void __launch_bounds__(512) read(const uint4* in, u32* out, u64 count) {
  constexpr u32 kTogether = 4;
  const u64 stride = u64(gridDim.x) * blockDim.x;
  u32 sum = 0;
  u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + (kTogether - 1) * stride < count; i += kTogether * stride) {
    uint4 values[kTogether];
#pragma unroll
    for (u32 n = 0; n < kTogether; ++n) values[n] = in[i + n * stride];
#pragma unroll
    for (u32 n = 0; n < kTogether; ++n) sum += values[n].x ^ values[n].y ^ values[n].z ^ values[n].w;
  }
  for (; i < count; i += stride) sum += in[i].x ^ in[i].y ^ in[i].z ^ in[i].w;
  if (sum != 0) out[threadIdx.x] = sum;
}

// Eight loads of 16 bytes in one turn; a warp's lanes read 512 bytes in a row, which no two of its four passes share.
// `flip` moves the warp to other rows and back: the same addresses in every turn would be read once.
extern "C" __global__ void __launch_bounds__(1024) read_shared(u32* out, u32 turns, u32 flip) {
  constexpr u32 kLoads = 8;
  constexpr u32 kRow = 256;
  __shared__ uint4 values[kLoads * kRow];
  for (u32 i = threadIdx.x; i < kLoads * kRow; i += blockDim.x) values[i] = make_uint4(i, ~i, i * 3, i << 16);
  __syncthreads();
  u32 at = threadIdx.x % kRow;
  uint4 sum = make_uint4(0, 0, 0, 0);
#pragma unroll 1
  for (u32 turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (u32 load = 0; load < kLoads; ++load) {
      const uint4 value = values[load * kRow + at];
      sum.x ^= value.x;
      sum.y ^= value.y;
      sum.z ^= value.z;
      sum.w ^= value.w;
    }
    at ^= flip;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}

// Tensor cores: products of 64 x 256 with 32 bytes of K, or as much work of mma.sync, from random operands, which take more
// power than zeros. A block of 256 threads does 8 of them in one turn.
#if __CUDA_ARCH__ >= 800

constexpr u32 kTensorThreads = 256;

__device__ inline u32 hashed(u32 x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

// Bits that are small numbers in any format: the largest bit of every exponent is clear.
template <int kBytes>
__device__ inline u32 random_operand(u32 i) {
  return hashed(i) & (kBytes == 1 ? 0xbfbfbfbfu : kBytes == 2 ? 0xbfffbfffu : 0xbfffffffu);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// A tile in shared memory whose rows of 128 bytes are swizzled.
__device__ inline u64 descriptor_of(const void* tile) {
  const u64 address = __cvta_generic_to_shared(tile);
  return ((address & 0x3ffff) >> 4) | (u64(1) << 16) | (u64(64) << 32) | (u64(1) << 62);
}

#define SUMS_4(i) "%" #i "0, %" #i "1, %" #i "2, %" #i "3, %" #i "4, %" #i "5, %" #i "6, %" #i "7, %" #i "8, %" #i "9, "
#define ALL_SUMS                                                                                                          \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, " SUMS_4(1) SUMS_4(2) SUMS_4(3) SUMS_4(4) SUMS_4(5) SUMS_4(6) SUMS_4(7)        \
      SUMS_4(8) SUMS_4(9) SUMS_4(10) SUMS_4(11) "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129"
#define SUMS_8(kind, i)                                                                                                   \
  kind(d[i]), kind(d[i + 1]), kind(d[i + 2]), kind(d[i + 3]), kind(d[i + 4]), kind(d[i + 5]), kind(d[i + 6]), kind(d[i + 7])
#define SUMS_32(kind, i) SUMS_8(kind, i), SUMS_8(kind, i + 8), SUMS_8(kind, i + 16), SUMS_8(kind, i + 24)
#define TENSOR_KERNEL(name, kBytes, Sum, kind, instruction, ending)                                                       \
  extern "C" __global__ void __launch_bounds__(kTensorThreads) name(u32* out, u32 turns) {                                \
    __shared__ __align__(1024) u32 tiles[48 * 256];                                                                       \
    for (u32 i = threadIdx.x; i < 48 * 256; i += kTensorThreads) tiles[i] = random_operand<kBytes>(i);                    \
    asm volatile("fence.proxy.async;" ::: "memory");                                                                      \
    __syncthreads();                                                                                                      \
    const u64 a = descriptor_of(tiles + threadIdx.x / 128 * 2048), b = descriptor_of(tiles + 4096);                       \
    Sum d[128];                                                                                                           \
    _Pragma("unroll") for (int i = 0; i < 128; ++i) d[i] = 0;                                                             \
    for (u32 turn = 0; turn < turns; ++turn) {                                                                            \
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                                             \
      _Pragma("unroll") for (int k = 0; k < 4; ++k) asm volatile(                                                         \
          instruction " " ALL_SUMS ending                                                                                 \
          : SUMS_32(kind, 0), SUMS_32(kind, 32), SUMS_32(kind, 64), SUMS_32(kind, 96)                                     \
          : "l"(a + 2 * k), "l"(b + 2 * k));                                                                              \
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                                                      \
    }                                                                                                                     \
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                                                        \
    Sum sum = 0;                                                                                                          \
    _Pragma("unroll") for (int i = 0; i < 128; ++i) sum += d[i];                                                          \
    out[blockIdx.x * kTensorThreads + threadIdx.x] = u32(sum);                                                            \
  }

TENSOR_KERNEL(tensor_f16, 2, float, "+f", "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", ", 1, 1, 1, 0, 0;")
TENSOR_KERNEL(tensor_bf16, 2, float, "+f", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", ", 1, 1, 1, 0, 0;")
TENSOR_KERNEL(tensor_tf32, 4, float, "+f", "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32", ", 1, 1, 1;")
TENSOR_KERNEL(tensor_fp8, 1, float, "+f", "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3", ", 1, 1, 1;")
TENSOR_KERNEL(tensor_i8, 1, int, "+r", "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8", ", 1;")

#else

#define TENSOR_KERNEL(name, kBytes, Sum, kind, instruction)                                                               \
  extern "C" __global__ void __launch_bounds__(kTensorThreads) name(u32* out, u32 turns) {                                \
    constexpr int kTiles = 16;                                                                                            \
    u32 a[4], b[2];                                                                                                       \
    for (int i = 0; i < 4; ++i) a[i] = random_operand<kBytes>(6 * threadIdx.x + i);                                       \
    for (int i = 0; i < 2; ++i) b[i] = random_operand<kBytes>(6 * threadIdx.x + 4 + i);                                   \
    Sum d[kTiles][4];                                                                                                     \
    _Pragma("unroll") for (int i = 0; i < kTiles * 4; ++i) d[i / 4][i % 4] = 0;                                           \
    for (u32 turn = 0; turn < 8 * turns; ++turn) {                                                                        \
      _Pragma("unroll") for (int i = 0; i < kTiles; ++i) asm volatile(                                                    \
          instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                  \
          : kind(d[i][0]), kind(d[i][1]), kind(d[i][2]), kind(d[i][3])                                                    \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                            \
    }                                                                                                                     \
    Sum sum = 0;                                                                                                          \
    _Pragma("unroll") for (int i = 0; i < kTiles * 4; ++i) sum += d[i / 4][i % 4];                                        \
    out[blockIdx.x * kTensorThreads + threadIdx.x] = u32(sum);                                                            \
  }

TENSOR_KERNEL(tensor_f16, 2, float, "+f", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
TENSOR_KERNEL(tensor_bf16, 2, float, "+f", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
TENSOR_KERNEL(tensor_tf32, 4, float, "+f", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
TENSOR_KERNEL(tensor_i8, 1, int, "+r", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
#if __CUDA_ARCH__ >= 890
TENSOR_KERNEL(tensor_fp8, 1, float, "+f", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
#endif

#endif

#endif
