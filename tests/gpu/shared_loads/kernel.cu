// Multiply-adds that need one new operand each, and among every 128 of them LOADS reads of WIDTH floats from shared
// memory, by lanes that read the same or different places. What a read costs beside its own issue shows in the time.

#define SAME 0       // every lane the same place
#define NEIGHBOURS 1 // eight lanes in a row the same, four places in all
#define REPEATED 2   // places 0 to 3 again and again: any four neighbours read four of them
#define DIFFERENT 3  // every lane its own place

__device__ __forceinline__ int place(int lane) {
  return LANES == SAME ? 0 : LANES == NEIGHBOURS ? lane / 8 : LANES == REPEATED ? lane % 4 : lane;
}

__device__ __forceinline__ void load(float (&value)[WIDTH], unsigned address) {
#if WIDTH == 4
  asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
               : "r"(address));
#elif WIDTH == 2
  asm volatile("ld.volatile.shared.v2.f32 {%0, %1}, [%2];" : "=f"(value[0]), "=f"(value[1]) : "r"(address));
#else
  asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(value[0]) : "r"(address));
#endif
}

constexpr int kSums = 128, kRepeats = 3;  // unrolled: 384 multiply-adds a step
constexpr int kReads = LOADS > 0 ? LOADS : 1;

extern "C" __global__ void __launch_bounds__(256) shared_loads(const float* start, float* out, int steps, float a, float b) {
  __shared__ __align__(16) float zeros[32 * WIDTH * kReads];
  for (int i = threadIdx.x; i < 32 * WIDTH * kReads; i += blockDim.x) zeros[i] = 0.0f;
  float sum[kSums], value[kReads][WIDTH] = {};
#pragma unroll
  for (int i = 0; i < kSums; ++i) sum[i] = start[i];
  // Operands in registers: those that come straight from the arguments would be read from uniform registers.
  const float x = a + 0.0f * start[0], y = b + 0.0f * start[1];
  __syncthreads();
  const unsigned address =
      static_cast<unsigned>(__cvta_generic_to_shared(zeros)) + place(threadIdx.x % 32) * WIDTH * 4;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
#pragma unroll
      for (int i = 0; i < kSums; ++i) {
        if (LOADS > 0 && i % (kSums / kReads) == 0 && i / (kSums / kReads) < LOADS) {
          load(value[i / (kSums / kReads)], address + i / (kSums / kReads) * 32 * WIDTH * 4);
        }
        sum[i] = fmaf(x, y, sum[i]);
      }
    }
  }
  float total = 0.0f;
#pragma unroll
  for (int i = 0; i < kSums; ++i) total += sum[i];
#pragma unroll
  for (int i = 0; i < kReads; ++i) {
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) total += value[i][j];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
