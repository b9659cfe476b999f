// Tensor cores: products of 64 x 256 with 32 bytes of K, or as much work of mma.sync, from random operands, which take more
// power than zeros. A block of 256 threads does 8 of them in one turn. ELEMENT is f16, bf16, tf32, e4m3 or i8.

typedef unsigned long long u64;
typedef unsigned int u32;

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
#define TENSOR_KERNEL(kBytes, Sum, kind, instruction, ending)                                                             \
  extern "C" __global__ void __launch_bounds__(kTensorThreads) tensor(u32* out, u32 turns) {                              \
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

#define OF_f16 2, float, "+f", "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", ", 1, 1, 1, 0, 0;"
#define OF_bf16 2, float, "+f", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", ", 1, 1, 1, 0, 0;"
#define OF_tf32 4, float, "+f", "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32", ", 1, 1, 1;"
#define OF_e4m3 1, float, "+f", "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3", ", 1, 1, 1;"
#define OF_i8 1, int, "+r", "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8", ", 1;"

#else

#define TENSOR_KERNEL(kBytes, Sum, kind, instruction)                                                                     \
  extern "C" __global__ void __launch_bounds__(kTensorThreads) tensor(u32* out, u32 turns) {                              \
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

#define OF_f16 2, float, "+f", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define OF_bf16 2, float, "+f", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#define OF_tf32 4, float, "+f", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#define OF_e4m3 1, float, "+f", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
#define OF_i8 1, int, "+r", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"

#endif

#define TENSOR_KERNEL_OF(...) TENSOR_KERNEL(__VA_ARGS__)
#define JOINED(a, b) a##b
#define OPERANDS_OF(element) JOINED(OF_, element)

TENSOR_KERNEL_OF(OPERANDS_OF(ELEMENT))
