// The harness' own kernels: inputs, poison checks, guard bands and the comparison with the FP64 reference.
// Grid-stride loops throughout, so that any launch shape is right.

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

struct Half { u16 bits; };
struct BFloat16 { u16 bits; };

__device__ inline double to_double(double value) { return value; }
__device__ inline double to_double(float value) { return value; }
__device__ inline double to_double(int value) { return value; }
__device__ inline double to_double(u32 value) { return value; }
__device__ inline double to_double(Half value) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(value.bits));
  return out;
}
__device__ inline double to_double(BFloat16 value) { return __uint_as_float(u32(value.bits) << 16); }

__device__ inline void from_float(float value, double& out) { out = value; }
__device__ inline void from_float(float value, float& out) { out = value; }
__device__ inline void from_float(float value, int& out) { out = int(value * 1000.0f); }
__device__ inline void from_float(float value, u32& out) { out = u32((value + 1.0f) * 1000.0f); }
__device__ inline void from_float(float value, Half& out) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(value));
}
__device__ inline void from_float(float value, BFloat16& out) {
  // Round to nearest, ties to even, on the upper half of the bits.
  const u32 bits = __float_as_uint(value);
  out.bits = u16((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

__device__ inline u64 first_index() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline u64 index_stride() { return u64(gridDim.x) * blockDim.x; }

// splitmix64 (Steele, Lea, Flood 2014): a bijection of the counter, so every element has its own value.
__device__ inline u64 mixed(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Uniform in [-1, 1).
template <typename T>
__device__ inline void fill_random(T* out, u64 count, u64 seed) {
  for (u64 i = first_index(); i < count; i += index_stride()) {
    const float unit = float(mixed(seed + i) >> 40) * (1.0f / 8388608.0f) - 1.0f;
    from_float(unit, out[i]);
  }
}

template <typename T>
__device__ inline void widen(const T* in, double* out, u64 count) {
  for (u64 i = first_index(); i < count; i += index_stride()) out[i] = to_double(in[i]);
}

// One thread block's share of a comparison; the host adds them up.
struct Comparison {
  double squared_error;
  double squared_reference;
  double largest_error;
  u64 largest_at;  // the first element of that error; the maximum when none has any
  u64 not_a_number;
  u64 first_not_a_number;  // the maximum when all are numbers
};

__device__ inline void add(Comparison& sum, const Comparison& other) {
  sum.squared_error += other.squared_error;
  sum.squared_reference += other.squared_reference;
  if (other.largest_error > sum.largest_error ||
      (other.largest_error == sum.largest_error && other.largest_at < sum.largest_at)) {
    sum.largest_error = other.largest_error;
    sum.largest_at = other.largest_at;
  }
  sum.not_a_number += other.not_a_number;
  sum.first_not_a_number = min(sum.first_not_a_number, other.first_not_a_number);
}

__device__ inline Comparison of_lane_above(const Comparison& mine, int distance) {
  const u32 all = 0xffffffffu;
  return {__shfl_down_sync(all, mine.squared_error, distance), __shfl_down_sync(all, mine.squared_reference, distance),
          __shfl_down_sync(all, mine.largest_error, distance), __shfl_down_sync(all, mine.largest_at, distance),
          __shfl_down_sync(all, mine.not_a_number, distance), __shfl_down_sync(all, mine.first_not_a_number, distance)};
}

template <typename T>
__device__ inline T warp_sum(T value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

// Compares rows of `columns` elements whose starts lie `pitch` apart, `count` elements in all. Thread blocks are whole
// warps. The order of the sums is fixed: the same outputs give the same bits.
template <typename T>
__device__ inline void compare(const T* out, const double* reference, u64 count, u64 columns, u64 pitch,
                               Comparison* of_block) {
  Comparison mine = {0, 0, 0, ~0ull, 0, ~0ull};
  for (u64 n = first_index(); n < count; n += index_stride()) {
    const u64 i = columns == pitch ? n : n / columns * pitch + n % columns;
    const double error = fabs(to_double(out[i]) - reference[i]);
    if (error != error || error > 1.7e308) {
      if (mine.not_a_number++ == 0) mine.first_not_a_number = i;
    } else {
      mine.squared_error += error * error;
      if (error > mine.largest_error) {
        mine.largest_error = error;
        mine.largest_at = i;
      }
    }
    mine.squared_reference += reference[i] * reference[i];
  }
  for (int distance = 16; distance > 0; distance /= 2) add(mine, of_lane_above(mine, distance));
  __shared__ Comparison of_warp[32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (u32 warp = 1; warp < blockDim.x / 32; ++warp) add(mine, of_warp[warp]);
  of_block[blockIdx.x] = mine;
}

// What a launch left in an output, of all its thread blocks.
struct LaunchCheck {
  double squared_error;     // of the elements that are numbers
  u64 largest_error;        // the bits of a double that is not negative: they are ordered as it is
  u64 not_a_number;
  u64 off;                  // elements whose error exceeds what is tolerated of one
  u64 untouched;            // those of them that still hold what the output was filled with
};

__device__ inline bool holds(double value, u32 word) { return __double2loint(value) == int(word) && __double2hiint(value) == int(word); }
__device__ inline bool holds(float value, u32 word) { return __float_as_uint(value) == word; }
__device__ inline bool holds(int value, u32 word) { return u32(value) == word; }
__device__ inline bool holds(u32 value, u32 word) { return value == word; }
__device__ inline bool holds(Half value, u32 word) { return value.bits == u16(word); }
__device__ inline bool holds(BFloat16 value, u32 word) { return value.bits == u16(word); }

__device__ inline void fill(double& value, u32 word) { value = __hiloint2double(int(word), int(word)); }
__device__ inline void fill(float& value, u32 word) { value = __uint_as_float(word); }
__device__ inline void fill(int& value, u32 word) { value = int(word); }
__device__ inline void fill(u32& value, u32 word) { value = word; }
__device__ inline void fill(Half& value, u32 word) { value.bits = u16(word); }
__device__ inline void fill(BFloat16& value, u32 word) { value.bits = u16(word); }

// Copies of one buffer, gridDim.y of them, whose starts lie `copy_pitch` bytes apart.
template <typename T>
__device__ inline T* of_copy(T* first, u64 copy_pitch) {
  return reinterpret_cast<T*>(reinterpret_cast<u64>(first) + blockIdx.y * copy_pitch);
}

// What lies between rows stays.
template <typename T>
__device__ inline void fill_rows(T* first, u64 copy_pitch, u64 count, u64 columns, u64 pitch, u32 word) {
  T* const out = of_copy(first, copy_pitch);
  for (u64 n = first_index(); n < count; n += index_stride())
    fill(out[columns == pitch ? n : n / columns * pitch + n % columns], word);
}

template <typename T>
__device__ inline void restore_rows(T* first, u64 copy_pitch, const T* from, u64 count, u64 columns, u64 pitch) {
  T* const out = of_copy(first, copy_pitch);
  for (u64 n = first_index(); n < count; n += index_stride()) {
    const u64 i = columns == pitch ? n : n / columns * pitch + n % columns;
    out[i] = from[i];
  }
}

template <typename T>
__device__ inline void check_rows(const T* first, u64 copy_pitch, const double* reference, u64 count, u64 columns, u64 pitch,
                                  u32 word, double tolerated, LaunchCheck* checks, u64 check_pitch) {
  const T* const out = of_copy(first, copy_pitch);
  double squared = 0;
  double largest = 0;
  u64 not_a_number = 0;
  u64 off = 0;
  u64 untouched = 0;
  for (u64 n = first_index(); n < count; n += index_stride()) {
    const u64 i = columns == pitch ? n : n / columns * pitch + n % columns;
    const T value = out[i];
    const double error = fabs(to_double(value) - reference[i]);
    if (error != error || error > 1.7e308) {
      ++not_a_number;
    } else {
      squared += error * error;
      largest = fmax(largest, error);
      if (error > tolerated) {
        ++off;
        // A right result of 16 bits may happen to be the same.
        untouched += holds(value, word);
      }
    }
  }
  __shared__ LaunchCheck of_warp[32];
  for (int distance = 16; distance > 0; distance /= 2)
    largest = fmax(largest, __shfl_down_sync(0xffffffffu, largest, distance));
  squared = warp_sum(squared);
  not_a_number = warp_sum(not_a_number);
  off = warp_sum(off);
  untouched = warp_sum(untouched);
  if (threadIdx.x % 32 == 0)
    of_warp[threadIdx.x / 32] = {squared, u64(__double_as_longlong(largest)), not_a_number, off, untouched};
  __syncthreads();
  if (threadIdx.x != 0) return;
  LaunchCheck mine = of_warp[0];
  for (u32 warp = 1; warp < blockDim.x / 32; ++warp) {
    mine.squared_error += of_warp[warp].squared_error;
    mine.largest_error = max(mine.largest_error, of_warp[warp].largest_error);
    mine.not_a_number += of_warp[warp].not_a_number;
    mine.off += of_warp[warp].off;
    mine.untouched += of_warp[warp].untouched;
  }
  LaunchCheck& check = checks[blockIdx.y * check_pitch];
  atomicAdd(&check.squared_error, mine.squared_error);
  atomicMax(&check.largest_error, mine.largest_error);
  if (mine.not_a_number > 0) atomicAdd(&check.not_a_number, mine.not_a_number);
  if (mine.off > 0) atomicAdd(&check.off, mine.off);
  if (mine.untouched > 0) atomicAdd(&check.untouched, mine.untouched);
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

extern "C" __global__ void checksum(const u8* bytes, u64 count, u64* sum) {
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
  u64 last;     // offset + 1
};

extern "C" __global__ void check_bands(const u8* bytes, u64 bands, u64 pitch, u64 count, u8 pattern,
                                       GuardCheck* result) {
  u64 changed = 0;
  u64 first = ~0ull;
  u64 last = 0;
  for (u64 i = first_index(); i < bands * count; i += index_stride()) {
    const u64 at = i / count * pitch + i % count;
    if (bytes[at] == pattern) continue;
    ++changed;
    first = min(first, at);
    last = at + 1;
  }
  if (changed == 0) return;
  atomicAdd(&result->changed, changed);
  atomicMin(&result->first, first);
  atomicMax(&result->last, last);
}

extern "C" __global__ void fill_bands(u8* bytes, u64 bands, u64 pitch, u64 count, u8 pattern) {
  for (u64 i = first_index(); i < bands * count; i += index_stride()) bytes[i / count * pitch + i % count] = pattern;
}

__device__ inline u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
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
extern "C" __global__ void gemm_f64(u64 m, u64 n, u64 k, double alpha, const double* a, u64 lda, const double* b, u64 ldb,
                                    double beta, double* c, u64 ldc) {
  for (u64 i = first_index(); i < m * n; i += index_stride()) {
    const u64 row = i / n;
    const u64 column = i % n;
    double sum = 0;
    for (u64 p = 0; p < k; ++p) sum += a[row * lda + p] * b[p * ldb + column];
    double& out = c[row * ldc + column];
    out = beta == 0.0 ? alpha * sum : alpha * sum + beta * out;
  }
}

// One set of entry points per element type, under plain names.
#define ENTRY_POINTS(SUFFIX, T)                                                                                   \
  extern "C" __global__ void fill_random_##SUFFIX(T* out, u64 count, u64 seed) { fill_random(out, count, seed); } \
  extern "C" __global__ void widen_##SUFFIX(const T* in, double* out, u64 count) { widen(in, out, count); }       \
  extern "C" __global__ void compare_##SUFFIX(const T* out, const double* reference, u64 count, u64 columns,      \
                                              u64 pitch, Comparison* of_block) {                                  \
    compare(out, reference, count, columns, pitch, of_block);                                                     \
  }                                                                                                               \
  extern "C" __global__ void fill_rows_##SUFFIX(T* first, u64 copy_pitch, u64 count, u64 columns, u64 pitch,      \
                                                u32 word) {                                                       \
    fill_rows(first, copy_pitch, count, columns, pitch, word);                                                    \
  }                                                                                                               \
  extern "C" __global__ void restore_rows_##SUFFIX(T* first, u64 copy_pitch, const T* from, u64 count,            \
                                                   u64 columns, u64 pitch) {                                      \
    restore_rows(first, copy_pitch, from, count, columns, pitch);                                                 \
  }                                                                                                               \
  extern "C" __global__ void check_rows_##SUFFIX(const T* first, u64 copy_pitch, const double* reference,         \
                                                 u64 count, u64 columns, u64 pitch, u32 word,                     \
                                                 double tolerated, LaunchCheck* checks, u64 check_pitch) {        \
    check_rows(first, copy_pitch, reference, count, columns, pitch, word, tolerated, checks, check_pitch);        \
  }

ENTRY_POINTS(f16, Half)
ENTRY_POINTS(bf16, BFloat16)
ENTRY_POINTS(f32, float)
ENTRY_POINTS(f64, double)
ENTRY_POINTS(i32, int)
ENTRY_POINTS(u32, u32)
