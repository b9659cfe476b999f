#pragma once

#include "common/reduce.cuh"
#include "common/vectors.cuh"

// Exponentials are taken to the base 2: e^(x - m) = 2^(x * kLog2E - m * kLog2E), one multiply-add and one
// instruction of the special function unit. The rounding of m * kLog2E is a common factor of the row, which
// the division by the sum removes.

constexpr float kLog2E = 1.44269504088896340736f;

__device__ __forceinline__ float exp2_fast(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// Where no value is above minus infinity, 0 is subtracted, so that minus infinity is not subtracted from
/// itself.
__device__ __forceinline__ float finite_base(float base) { return base == -INFINITY ? 0.0f : base; }

/// Of some values x: base is the largest of x * kLog2E, sum that of 2^(x * kLog2E - finite_base(base)).
struct BaseSum {
  float base;
  float sum;
};

template <>
__device__ __forceinline__ BaseSum shuffle_xor(BaseSum value, int mask) {
  return {shuffle_xor(value.base, mask), shuffle_xor(value.sum, mask)};
}

__device__ __forceinline__ BaseSum combine(BaseSum a, BaseSum b) {
  const float base = fmaxf(a.base, b.base);
  const float subtracted = finite_base(base);
  return {base, a.sum * exp2_fast(a.base - subtracted) + b.sum * exp2_fast(b.base - subtracted)};
}
