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
