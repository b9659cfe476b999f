#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Products of matrices on tensor cores (sm_80 and newer; 8-bit floating point sm_89), a warp at a time. Two
// 16-bit elements travel in one 32-bit word, the first in its low bits; or four of 8 bits, or one of tf32.
// PTX ISA: "Warp Level Matrix Multiply-Accumulate Instructions".

// Element types under the names that manifests use.
using f16 = __half;
using bf16 = __nv_bfloat16;
using f32 = float;
using tf32 = float;  // of which tensor cores read the upper 19 bits
struct e4m3 {
  unsigned char bits;
};
struct e5m2 {
  unsigned char bits;
};
using i8 = signed char;
using i32 = int;

/// Rounds two floats to nearest even.
template <class T>
__device__ __forceinline__ unsigned pack(float first, float second);

template <>
__device__ __forceinline__ unsigned pack<f16>(float first, float second) {
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
}

template <>
__device__ __forceinline__ unsigned pack<bf16>(float first, float second) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
}

/// The counterpart of pack.
template <class T>
__device__ __forceinline__ float2 unpack(unsigned word);

template <>
__device__ __forceinline__ float2 unpack<f16>(unsigned word) {
  return __half22float2(*reinterpret_cast<const __half2*>(&word));
}

template <>
__device__ __forceinline__ float2 unpack<bf16>(unsigned word) {
  return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u));
}

/// Loads four 8 x 8 matrices; lanes 8i to 8i + 7 give the addresses of the rows of matrix i, 16 bytes each.
/// Lane l gets elements 2 * (l % 4) and the next of row l / 4 of every matrix.
__device__ __forceinline__ void load_matrices(unsigned (&words)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

/// The same, each matrix transposed: lane l gets elements l / 4 of rows 2 * (l % 4) and the next.
__device__ __forceinline__ void load_transposed_matrices(unsigned (&words)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

/// d += a * b, with a 16 x k, b k x 8 and d 16 x 8, where k elements take 32 bytes: 16 of f16. d is FP32, or
/// i32 of i8. Lane l has of d the elements 2 * (l % 4) and the next of row l / 4, then of row l / 4 + 8; of a
/// the words of its four quarters (rows 0 to 7 and 8 to 15 of the first half of k, then of the second) as
/// load_matrices gives them; of b word l % 4 of column l / 4 of each half of k.
template <class T, class Sum>
__device__ __forceinline__ void multiply_matrices(Sum (&d)[4], const unsigned (&a)[4], unsigned b0,
                                                  unsigned b1) = delete;

#define TILETUNE_MULTIPLY_MATRICES(T, SUM, CONSTRAINT, INSTRUCTION)                                          \
  template <>                                                                                                \
  __device__ __forceinline__ void multiply_matrices<T, SUM>(SUM(&d)[4], const unsigned (&a)[4], unsigned b0, \
                                                            unsigned b1) {                                   \
    asm("mma.sync.aligned." INSTRUCTION                                                                      \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                   \
        : CONSTRAINT(d[0]), CONSTRAINT(d[1]), CONSTRAINT(d[2]), CONSTRAINT(d[3])                             \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                     \
  }
TILETUNE_MULTIPLY_MATRICES(f16, float, "+f", "m16n8k16.row.col.f32.f16.f16.f32")
TILETUNE_MULTIPLY_MATRICES(bf16, float, "+f", "m16n8k16.row.col.f32.bf16.bf16.f32")
TILETUNE_MULTIPLY_MATRICES(tf32, float, "+f", "m16n8k8.row.col.f32.tf32.tf32.f32")
TILETUNE_MULTIPLY_MATRICES(i8, int, "+r", "m16n8k32.row.col.s32.s8.s8.s32")
#if __CUDA_ARCH__ >= 890
TILETUNE_MULTIPLY_MATRICES(e4m3, float, "+f", "m16n8k32.row.col.f32.e4m3.e4m3.f32")
TILETUNE_MULTIPLY_MATRICES(e5m2, float, "+f", "m16n8k32.row.col.f32.e5m2.e5m2.f32")
#endif
#undef TILETUNE_MULTIPLY_MATRICES
