#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Element types under the names that manifests use, so that a manifest can pass its type to the kernel.
using f32 = float;
using f16 = __half;
using bf16 = __nv_bfloat16;
using i32 = int;
using i64 = long long;

/// An unsigned word of BYTES bytes, moved by one instruction.
template <int BYTES>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = unsigned char;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};

/// N neighbouring elements.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T at[N];
};

/// Reads N elements with one instruction; the address is a multiple of their size. STREAMED: the caches give
/// up the data first.
template <int N, bool STREAMED, class T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* address) {
  using Word = typename WordOf<sizeof(T) * N>::Type;
  const Word* words = reinterpret_cast<const Word*>(address);
  const Word word = STREAMED ? __ldcs(words) : *words;
  Vector<T, N> vector;
  memcpy(&vector, &word, sizeof(word));
  return vector;
}

/// The counterpart of load_vector.
template <bool STREAMED, int N, class T>
__device__ __forceinline__ void store_vector(T* address, const Vector<T, N>& vector) {
  using Word = typename WordOf<sizeof(T) * N>::Type;
  Word word;
  memcpy(&word, &vector, sizeof(word));
  if constexpr (STREAMED)
    __stcs(reinterpret_cast<Word*>(address), word);
  else
    *reinterpret_cast<Word*>(address) = word;
}

__device__ __forceinline__ float to_float(f32 value) { return value; }
__device__ __forceinline__ float to_float(f16 value) { return __half2float(value); }
__device__ __forceinline__ float to_float(bf16 value) { return __bfloat162float(value); }

/// Rounds to nearest even.
template <class T>
__device__ __forceinline__ T from_float(float value) {
  if constexpr (sizeof(T) == sizeof(float))
    return value;
  else
    return T(value);
}
