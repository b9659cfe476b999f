// The harness' own kernels for elements of one type: inputs, and comparisons with a reference. Behind device_common.cuh and
// input_values.cuh, with ELEMENT defined as one of the types below, and REFERENCE as the type of references: double for
// floating-point elements, else the same.

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef double f64;

struct f16 { u16 bits; };
struct bf16 { u16 bits; };
struct tf32 { float value; };
struct Bool { u8 bits; };

// The 8-bit formats of the OCP specification "OFP8": a sign, an exponent and MANTISSA bits.
template <int MANTISSA>
struct Float8 { u8 bits; };
typedef Float8<3> e4m3;
typedef Float8<2> e5m2;

template <typename T>
__device__ inline double to_double(T value) { return double(value); }
__device__ inline double to_double(f16 value) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(value.bits));
  return out;
}
__device__ inline double to_double(bf16 value) { return __uint_as_float(u32(value.bits) << 16); }
__device__ inline double to_double(tf32 value) { return value.value; }
// What is neither 0 nor 1 stays apart from both.
__device__ inline double to_double(Bool value) { return value.bits; }
template <int MANTISSA>
__device__ inline double to_double(Float8<MANTISSA> value) {
  const int bias = (1 << (6 - MANTISSA)) - 1;
  const int exponent = (value.bits & 0x7f) >> MANTISSA;
  const int mantissa = value.bits & ((1 << MANTISSA) - 1);
  const bool highest = exponent == (0x7f >> MANTISSA);
  double size;
  if (highest && MANTISSA == 2)
    size = mantissa == 0 ? __longlong_as_double(0x7ff0000000000000ll) : __longlong_as_double(0x7ff8000000000000ll);
  else if (highest && mantissa == (1 << MANTISSA) - 1)
    size = __longlong_as_double(0x7ff8000000000000ll);
  else if (exponent == 0)
    size = ldexp(double(mantissa), 1 - bias - MANTISSA);
  else
    size = ldexp(double(mantissa + (1 << MANTISSA)), exponent - bias - MANTISSA);
  return value.bits & 0x80 ? -size : size;
}

template <typename T>
__device__ inline void from_double(double value, T& out) { out = T(value); }
__device__ inline void from_double(double value, f16& out) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(float(value)));
}
__device__ inline void from_double(double value, bf16& out) {
  // Round to nearest, ties to even, on the upper half of the bits.
  const u32 bits = __float_as_uint(float(value));
  out.bits = value != value ? 0x7fc0 : u16((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
// Round to nearest, ties to even, on all but the last 13 bits.
__device__ inline void from_double(double value, tf32& out) {
  const u32 bits = value != value ? 0x7fc00000u : __float_as_uint(float(value));
  out.value = __uint_as_float((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu);
}
__device__ inline void from_double(double value, Bool& out) { out.bits = value != 0; }
// Round to nearest, ties to even; what is too large becomes the largest finite number.
template <int MANTISSA>
__device__ inline void from_double(double value, Float8<MANTISSA>& out) {
  const int bias = (1 << (6 - MANTISSA)) - 1;
  const double largest = MANTISSA == 3 ? 448 : 57344;
  const double size = fmin(fabs(value), largest);
  const int exponent = size == 0 ? 1 - bias : max(ilogb(size), 1 - bias);
  const int steps = int(rint(ldexp(size, MANTISSA - exponent)));
  // Steps below 2^MANTISSA are of a number without a leading one; 2^(MANTISSA + 1) of them carry.
  const int code = steps < (1 << MANTISSA) ? steps : ((exponent + bias) << MANTISSA) + steps - (1 << MANTISSA);
  out.bits = u8(code | (value < 0 ? 0x80 : 0));
}

__device__ inline double error_of(Bool value, Bool reference) { return value.bits == reference.bits ? 0 : 1; }
template <typename T>
__device__ inline double error_of(T value, double reference) { return fabs(to_double(value) - reference); }
// Integers that differ may be the same number as doubles.
template <typename T>
__device__ inline double error_of(T value, T reference) {
  return value == reference ? 0 : fmax(1.0, fabs(double(value) - double(reference)));
}
__device__ inline double error_of(double value, double reference) { return fabs(value - reference); }

// Whether element i still holds what fill_rows() left.
template <typename T>
__device__ inline bool holds(T value, u32 word, u64 element) {
  const u64 twice = (u64(word) << 32 | word) >> (8 * (element * sizeof(T) % 4));
  const u8* const bytes = reinterpret_cast<const u8*>(&value);
  bool same = true;
  for (u32 i = 0; i < sizeof(T); ++i) same = same && bytes[i] == u8(twice >> (8 * i));
  return same;
}

// One thread block's share of a comparison; the host adds them up.
struct Comparison {
  double squared_error;
  double squared_reference;
  double largest_error;
  u64 largest_at;  // the first element of that error; the maximum when none has any
  u64 not_a_number;
  u64 first_not_a_number;  // the maximum when all are numbers
  u64 off;                 // elements whose error exceeds what is tolerated of one
  u64 untouched;           // elements of `off` that still hold the word that the output was filled with
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
  sum.off += other.off;
  sum.untouched += other.untouched;
}

__device__ inline Comparison of_lane_above(const Comparison& mine, int distance) {
  const u32 all = 0xffffffffu;
  return {__shfl_down_sync(all, mine.squared_error, distance), __shfl_down_sync(all, mine.squared_reference, distance),
          __shfl_down_sync(all, mine.largest_error, distance), __shfl_down_sync(all, mine.largest_at, distance),
          __shfl_down_sync(all, mine.not_a_number, distance), __shfl_down_sync(all, mine.first_not_a_number, distance),
          __shfl_down_sync(all, mine.off, distance), __shfl_down_sync(all, mine.untouched, distance)};
}

// Compares rows of `columns` elements whose starts lie `pitch` apart, `count` elements in all. Thread blocks are whole
// warps; the first thread of each gets the block's share. The order of the sums is fixed: the same outputs give the same
// bits.
__device__ inline Comparison compared(const ELEMENT* out, const REFERENCE* reference, u64 count, u64 columns, u64 pitch,
                                      u32 word, double absolute, double relative) {
  Comparison mine = {0, 0, 0, ~0ull, 0, ~0ull, 0, 0};
  for (u64 n = first_index(); n < count; n += index_stride()) {
    const u64 i = element_of(n, columns, pitch);
    const ELEMENT value = out[i];
    const double wanted = to_double(reference[i]);
    const double error = error_of(value, reference[i]);
    const bool is_finite = fabs(wanted) <= 1.7e308;
    // What is no number by the reference must be none, but not what was there before; infinities are equal.
    const bool fits = is_finite || (wanted != wanted ? to_double(value) != to_double(value) && !holds(value, word, i)
                                                     : to_double(value) == wanted);
    if (!is_finite && fits) continue;
    if (error != error || error > 1.7e308) {
      if (mine.not_a_number++ == 0) mine.first_not_a_number = i;
      mine.untouched += holds(value, word, i);
    } else {
      mine.squared_error += error * error;
      if (error > mine.largest_error) {
        mine.largest_error = error;
        mine.largest_at = i;
      }
      if (error > absolute + relative * fabs(wanted)) {
        ++mine.off;
        // A right result of few bits may happen to be the same.
        mine.untouched += holds(value, word, i);
      }
    }
    if (is_finite) mine.squared_reference += wanted * wanted;
  }
  for (int distance = 16; distance > 0; distance /= 2) add(mine, of_lane_above(mine, distance));
  __shared__ Comparison of_warp[32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0)
    for (u32 warp = 1; warp < blockDim.x / 32; ++warp) add(mine, of_warp[warp]);
  return mine;
}

// What a launch left in an output, of all its thread blocks.
struct LaunchCheck {
  double squared_error;     // of the elements that are numbers
  u64 largest_error;        // the bits of a double that is not negative: they are ordered as it is
  u64 not_a_number;
  u64 off;
  u64 untouched;
};

extern "C" __global__ void fill_values(ELEMENT* out, u64 count, u64 columns, u64 pitch, int distribution, double a, double b,
                                       u64 seed) {
  for (u64 n = first_index(); n < count; n += index_stride())
    from_double(value_at(distribution, a, b, seed, count, n), out[element_of(n, columns, pitch)]);
}
extern "C" __global__ void widen(const ELEMENT* in, double* out, u64 count) {
  for (u64 i = first_index(); i < count; i += index_stride()) out[i] = to_double(in[i]);
}
extern "C" __global__ void narrow(const double* in, ELEMENT* out, u64 count) {
  for (u64 i = first_index(); i < count; i += index_stride()) from_double(in[i], out[i]);
}
extern "C" __global__ void compare(const ELEMENT* out, const REFERENCE* reference, u64 count, u64 columns,
                                   u64 pitch, double absolute, double relative, Comparison* of_block) {
  const Comparison mine = compared(out, reference, count, columns, pitch, 0, absolute, relative);
  if (threadIdx.x == 0) of_block[blockIdx.x] = mine;
}
extern "C" __global__ void check_rows(const ELEMENT* first, u64 copy_pitch, const REFERENCE* first_reference,
                                      SetChoice choice, u64 count, u64 columns, u64 pitch, u32 word, double absolute,
                                      double relative, LaunchCheck* checks, u64 check_pitch) {
  const Comparison mine = compared(of_copy(first, copy_pitch), chosen(first_reference, choice), count, columns, pitch,
                                   word, absolute, relative);
  if (threadIdx.x != 0) return;
  LaunchCheck& check = checks[blockIdx.y * check_pitch];
  atomicAdd(&check.squared_error, mine.squared_error);
  atomicMax(&check.largest_error, u64(__double_as_longlong(mine.largest_error)));
  if (mine.not_a_number > 0) atomicAdd(&check.not_a_number, mine.not_a_number);
  if (mine.off > 0) atomicAdd(&check.off, mine.off);
  if (mine.untouched > 0) atomicAdd(&check.untouched, mine.untouched);
}
