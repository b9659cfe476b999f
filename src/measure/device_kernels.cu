// The harness' own kernels that know no element type: poison, guard bands, checksums, the clock. Behind device_common.cuh.

typedef uint4 u128;

// Element i of memory that holds a word again and again.
template <typename T>
__device__ inline T repeated(u32 word, u64 i) { return T((u64(word) << 32 | word) >> (8 * (i * sizeof(T) % 4))); }
template <>
__device__ inline u128 repeated<u128>(u32 word, u64) { return make_uint4(word, word, word, word); }

// What lies between rows stays.
template <typename T>
__device__ inline void fill_rows(T* first, u64 copy_pitch, u64 count, u64 columns, u64 pitch, u32 word) {
  T* const out = of_copy(first, copy_pitch);
  for (u64 n = first_index(); n < count; n += index_stride()) {
    const u64 i = element_of(n, columns, pitch);
    out[i] = repeated<T>(word, i);
  }
}

template <typename T>
__device__ inline void restore_rows(T* first, u64 copy_pitch, const T* first_set, SetChoice choice, u64 count, u64 columns,
                                    u64 pitch) {
  T* const out = of_copy(first, copy_pitch);
  const T* const from = chosen(first_set, choice);
  for (u64 n = first_index(); n < count; n += index_stride()) {
    const u64 i = element_of(n, columns, pitch);
    out[i] = from[i];
  }
}

#define BY_SIZE(BITS)                                                                                             \
  extern "C" __global__ void fill_rows_##BITS(u##BITS* first, u64 copy_pitch, u64 count, u64 columns, u64 pitch,  \
                                              u32 word) {                                                         \
    fill_rows(first, copy_pitch, count, columns, pitch, word);                                                    \
  }                                                                                                               \
  extern "C" __global__ void restore_rows_##BITS(u##BITS* first, u64 copy_pitch, const u##BITS* first_set,        \
                                                 SetChoice choice, u64 count, u64 columns, u64 pitch) {           \
    restore_rows(first, copy_pitch, first_set, choice, count, columns, pitch);                                    \
  }

BY_SIZE(8)
BY_SIZE(16)
BY_SIZE(32)
BY_SIZE(64)
BY_SIZE(128)

extern "C" __global__ void copy_bytes(u8* to, const u8* from, u64 count) {
  const bool in_words = (reinterpret_cast<u64>(to) | reinterpret_cast<u64>(from)) % 4 == 0;
  const u64 words = in_words ? count / 4 : 0;
  for (u64 i = first_index(); i < words; i += index_stride())
    reinterpret_cast<u32*>(to)[i] = reinterpret_cast<const u32*>(from)[i];
  for (u64 i = words * 4 + first_index(); i < count; i += index_stride()) to[i] = from[i];
}

// A block for each multiprocessor takes all of its shared memory.
extern "C" __global__ void fill_shared(u32 words, u32 word) {
  extern __shared__ u32 shared[];
  for (u32 i = threadIdx.x; i < words; i += blockDim.x) asm volatile("st.volatile.shared.u32 [%0], %1;"
      :: "r"(u32(__cvta_generic_to_shared(shared + i))), "r"(word));
}

__device__ inline u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Keeps the multiprocessors busy that its blocks lie on, for a time that differs from block to block.
extern "C" __global__ void occupy(u64 longest_ns, u64 seed) {
  const u64 until = nanoseconds() + mixed(seed + blockIdx.x) % longest_ns;
  u64 turn = seed + threadIdx.x;
  while (nanoseconds() < until) turn = mixed(turn);
  if (turn == 0) asm volatile("trap;");
}

// Reads memory, so that it is in the L2 cache and what was there before is not. The sum is written for next to no
// contents, but the compiler has to reckon with it.
extern "C" __global__ void read_memory(const uint4* quads, u64 count, u32* sum) {
  constexpr u32 kTogether = 4;
  const u64 stride = index_stride();
  u32 mine = 0;
  u64 i = first_index();
  for (; i + (kTogether - 1) * stride < count; i += kTogether * stride) {
    uint4 values[kTogether];
#pragma unroll
    for (u32 n = 0; n < kTogether; ++n) values[n] = quads[i + n * stride];
#pragma unroll
    for (u32 n = 0; n < kTogether; ++n) mine |= values[n].x | values[n].y | values[n].z | values[n].w;
  }
  for (; i < count; i += stride) mine |= quads[i].x | quads[i].y | quads[i].z | quads[i].w;
  if (mine == 1) *sum = mine;
}

// Of copies the sum of their checksums.
extern "C" __global__ void checksum(const u8* first, u64 copy_pitch, u64 count, u64* sum) {
  const u8* const bytes = of_copy(first, copy_pitch);
  const u64 words = count / 4;
  u64 mine = 0;
  for (u64 i = first_index(); i < words; i += index_stride()) {
    mine += mixed((i << 32) ^ reinterpret_cast<const u32*>(bytes)[i]);
  }
  if (first_index() == 0) {
    for (u64 i = words * 4; i < count; ++i) mine += mixed((i << 32) ^ bytes[i] ^ 0x8000000000000000ull);
  }
  // One atomic operation per warp: a million of them on one word take a millisecond.
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

struct GuardCheck {
  u64 changed;  // bytes
  u64 first;    // offset; starts at its maximum
};

extern "C" __global__ void check_bands(const u8* bytes, u64 bands, u64 pitch, u64 count, u8 pattern,
                                       GuardCheck* result) {
  u64 changed = 0;
  u64 first = ~0ull;
  for (u64 i = first_index(); i < bands * count; i += index_stride()) {
    const u64 at = i / count * pitch + i % count;
    if (bytes[at] == pattern) continue;
    ++changed;
    first = min(first, at);
  }
  if (changed == 0) return;
  atomicAdd(&result->changed, changed);
  atomicMin(&result->first, first);
}

extern "C" __global__ void fill_bands(u8* bytes, u64 bands, u64 pitch, u64 count, u8 pattern) {
  for (u64 i = first_index(); i < bands * count; i += index_stride()) bytes[i / count * pitch + i % count] = pattern;
}

// Waits for the host, but not for ever: words[0] is the ticket released last, words[1] the one given up last.
extern "C" __global__ void block_stream(volatile u32* words, u32 ticket, u64 deadline_ns) {
  const u64 start = nanoseconds();
  while (words[0] != ticket) {
    if (nanoseconds() - start > deadline_ns) {
      words[1] = ticket;
      __threadfence_system();
      return;
    }
  }
}

struct ClockReading {
  u64 cycles;
  u64 nanoseconds;
};

// One block per multiprocessor.
extern "C" __global__ void probe_clock(ClockReading* out, int multiprocessors) {
  u32 multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor >= u32(multiprocessors)) return;
  out[multiprocessor].cycles = u64(clock64());
  out[multiprocessor].nanoseconds = nanoseconds();
}

extern "C" __global__ void empty() {}

// The smallest of a few steps: a reading may come late.
extern "C" __global__ void timer_step(u64* out) {
  u64 least = ~0ull;
  u64 last = nanoseconds();
  for (int steps = 0; steps < 16;) {
    const u64 now = nanoseconds();
    if (now == last) continue;
    least = min(least, now - last);
    last = now;
    ++steps;
  }
  *out = least;
}

// The plain FP64 product, for machines without cuBLAS. One thread per element.
extern "C" __global__ void gemm_f64(u64 m, u64 n, u64 k, double alpha, const double* a, u64 a_row, u64 a_column,
                                    const double* b, u64 b_row, u64 b_column, double beta, double* c, u64 ldc) {
  for (u64 i = first_index(); i < m * n; i += index_stride()) {
    const u64 row = i / n;
    const u64 column = i % n;
    double sum = 0;
    for (u64 p = 0; p < k; ++p) sum += a[row * a_row + p * a_column] * b[p * b_row + column * b_column];
    double& out = c[row * ldc + column];
    out = beta == 0.0 ? alpha * sum : alpha * sum + beta * out;
  }
}

// What follows a product, numbered as BlasEpilogue: a bias for each column, and a function. gelu is its
// approximation by tanh.
extern "C" __global__ void finish_f64(u64 m, u64 n, double* c, u64 ldc, const double* bias, int epilogue) {
  const bool relu = epilogue == 1 || epilogue == 4, gelu = epilogue == 2 || epilogue == 5;
  for (u64 i = first_index(); i < m * n; i += index_stride()) {
    double& out = c[i / n * ldc + i % n];
    const double x = epilogue >= 3 ? out + bias[i % n] : out;
    out = relu ? fmax(x, 0.0)
        : gelu ? 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)))
               : x;
  }
}
