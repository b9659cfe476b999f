#pragma once

#include <cuda_fp16.h>

// Half precision in memory, float in arithmetic. Two halves travel in one 32-bit word, the first in its low
// bits.

/// Words that hold COUNT halves; a single one is the low half of its word.
template <int COUNT>
constexpr int kWords = (COUNT + 1) / 2;

/// Reads COUNT neighbouring halves in one instruction, where the address is a multiple of as many: 1, 2, 4
/// or 8.
template <int COUNT>
__device__ __forceinline__ void load_halves(unsigned (&words)[kWords<COUNT>], const __half* address) {
  static_assert(COUNT == 1 || COUNT == 2 || COUNT == 4 || COUNT == 8, "the widths that loads have");
  if constexpr (COUNT == 8) {
    const uint4 value = *reinterpret_cast<const uint4*>(address);
    words[0] = value.x;
    words[1] = value.y;
    words[2] = value.z;
    words[3] = value.w;
  } else if constexpr (COUNT == 4) {
    const uint2 value = *reinterpret_cast<const uint2*>(address);
    words[0] = value.x;
    words[1] = value.y;
  } else if constexpr (COUNT == 2) {
    words[0] = *reinterpret_cast<const unsigned*>(address);
  } else {
    words[0] = *reinterpret_cast<const unsigned short*>(address);
  }
}

/// Zeros where there is nothing to read.
template <int COUNT>
__device__ __forceinline__ void load_halves_if(unsigned (&words)[kWords<COUNT>], const __half* address,
                                               bool exists) {
#pragma unroll
  for (unsigned& word : words) word = 0;
  if (exists) load_halves<COUNT>(words, address);
}

template <int COUNT>
__device__ __forceinline__ void store_halves(__half* address, const unsigned (&words)[kWords<COUNT>]) {
  if constexpr (COUNT == 8) {
    *reinterpret_cast<uint4*>(address) = make_uint4(words[0], words[1], words[2], words[3]);
  } else if constexpr (COUNT == 4) {
    *reinterpret_cast<uint2*>(address) = make_uint2(words[0], words[1]);
  } else if constexpr (COUNT == 2) {
    *reinterpret_cast<unsigned*>(address) = words[0];
  } else {
    *reinterpret_cast<unsigned short*>(address) = static_cast<unsigned short>(words[0]);
  }
}

__device__ __forceinline__ float2 as_floats(unsigned word) {
  return __half22float2(*reinterpret_cast<const __half2*>(&word));
}

__device__ __forceinline__ unsigned as_word(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

/// As load_fragment, from halves to floats; a patch is read in one instruction.
template <int PATCH, int STRIDE, int COUNT>
__device__ __forceinline__ void load_half_fragment(float (&fragment)[COUNT], const __half* address) {
#pragma unroll
  for (int i = 0; i < COUNT; i += PATCH) {
    unsigned words[kWords<PATCH>];
    load_halves<PATCH>(words, address + i / PATCH * STRIDE);
#pragma unroll
    for (int j = 0; j < PATCH; j += 2) {
      const float2 pair = as_floats(words[j / 2]);
      fragment[i + j] = pair.x;
      fragment[i + j + 1] = pair.y;
    }
  }
}

/// Finishes COUNT neighbouring elements of C in one instruction. With beta == 0 the old values are not read.
template <int COUNT>
__device__ __forceinline__ void store_half_results(__half* c, float alpha, const float* sums, float beta) {
  unsigned words[kWords<COUNT>] = {};
  if (beta != 0.0f) load_halves<COUNT>(words, c);
#pragma unroll
  for (int j = 0; j < COUNT; j += 2) {
    const float2 old = as_floats(words[j / 2]);
    const float second = COUNT > 1 ? alpha * sums[j + 1] + beta * old.y : 0.0f;
    words[j / 2] = as_word(alpha * sums[j] + beta * old.x, second);
  }
  store_halves<COUNT>(c, words);
}
