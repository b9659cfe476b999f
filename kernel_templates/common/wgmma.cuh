#pragma once

#include "common/mma.cuh"

// Products of a warpgroup (four warps) on tensor cores that read their operands from shared memory and run
// beside the threads (sm_90a only). PTX ISA: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
// Instructions".
//
// The 64 x N sums of a product lie in registers: lane l of warp w of the group has of row 16 w + l / 4 the
// columns 2 (l % 4) and the next, of row 8 below the same, then of the columns 8 to the right, and so on.

/// Orders this warpgroup's accesses to its sums before the products that follow.
__device__ __forceinline__ void fence_sums() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Ends a group of products.
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until all of this warpgroup's groups of products but the newest PENDING are done.
template <int PENDING>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/// This warpgroup has REGISTERS per thread from now on, a multiple of 8 from 24 to 256. What it gives up goes to
/// warpgroups of its block that ask for more, and wait for it. 0: as many as it was launched with.
template <int REGISTERS>
__device__ __forceinline__ void lower_registers() {
  if constexpr (REGISTERS > 0) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ __forceinline__ void raise_registers() {
  if constexpr (REGISTERS > 0) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/// What a product is told of an operand in shared memory, in rows of 128 bytes, swizzled as TMA does it (the
/// 16-byte chunk c of row r in the place of chunk c ^ r % 8), from an address that is a multiple of 1024.
///
/// A row holds one row of the operand, along K; groups of eight rows follow each other.
__device__ __forceinline__ unsigned long long rows_along_k(unsigned address) {
  return (address & 0x3ffff) >> 4 | 1ull << 16 | 1024ull >> 4 << 32 | 1ull << 62;
}
/// A row holds 64 columns of 16 bits, for one value of K; `block_bytes` further are the next 64 columns.
__device__ __forceinline__ unsigned long long rows_across_k(unsigned address, unsigned block_bytes) {
  return (address & 0x3ffff) >> 4 | static_cast<unsigned long long>(block_bytes >> 4) << 16 |
         1024ull >> 4 << 32 | 1ull << 62;
}

/// The type of its sums.
template <class T>
struct SumOf {
  using Type = float;
};
template <>
struct SumOf<i8> {
  using Type = int;
};
template <class T>
using Sum = typename SumOf<T>::Type;

/// Starts d = a * b, or d += a * b: 64 x N sums of products of 64 x 32 bytes by N x 32 bytes. A_ACROSS,
/// B_ACROSS: the operand's rows lie across K, which 16-bit types alone allow. N is a multiple of 8 up to 256; of
/// i8 it is 8, 24 or a multiple of 16. Sums of i8 wrap around.
template <class T, int N, bool A_ACROSS, bool B_ACROSS>
struct WarpgroupProduct;

#define TILETUNE_REGISTERS_4 "%0, %1, %2, %3"
#define TILETUNE_REGISTERS_8 TILETUNE_REGISTERS_4 ", %4, %5, %6, %7"
#define TILETUNE_REGISTERS_12 TILETUNE_REGISTERS_8 ", %8, %9, %10, %11"
#define TILETUNE_REGISTERS_16 TILETUNE_REGISTERS_12 ", %12, %13, %14, %15"
#define TILETUNE_REGISTERS_20 TILETUNE_REGISTERS_16 ", %16, %17, %18, %19"
#define TILETUNE_REGISTERS_24 TILETUNE_REGISTERS_20 ", %20, %21, %22, %23"
#define TILETUNE_REGISTERS_28 TILETUNE_REGISTERS_24 ", %24, %25, %26, %27"
#define TILETUNE_REGISTERS_32 TILETUNE_REGISTERS_28 ", %28, %29, %30, %31"
#define TILETUNE_REGISTERS_36 TILETUNE_REGISTERS_32 ", %32, %33, %34, %35"
#define TILETUNE_REGISTERS_40 TILETUNE_REGISTERS_36 ", %36, %37, %38, %39"
#define TILETUNE_REGISTERS_44 TILETUNE_REGISTERS_40 ", %40, %41, %42, %43"
#define TILETUNE_REGISTERS_48 TILETUNE_REGISTERS_44 ", %44, %45, %46, %47"
#define TILETUNE_REGISTERS_52 TILETUNE_REGISTERS_48 ", %48, %49, %50, %51"
#define TILETUNE_REGISTERS_56 TILETUNE_REGISTERS_52 ", %52, %53, %54, %55"
#define TILETUNE_REGISTERS_60 TILETUNE_REGISTERS_56 ", %56, %57, %58, %59"
#define TILETUNE_REGISTERS_64 TILETUNE_REGISTERS_60 ", %60, %61, %62, %63"
#define TILETUNE_REGISTERS_68 TILETUNE_REGISTERS_64 ", %64, %65, %66, %67"
#define TILETUNE_REGISTERS_72 TILETUNE_REGISTERS_68 ", %68, %69, %70, %71"
#define TILETUNE_REGISTERS_76 TILETUNE_REGISTERS_72 ", %72, %73, %74, %75"
#define TILETUNE_REGISTERS_80 TILETUNE_REGISTERS_76 ", %76, %77, %78, %79"
#define TILETUNE_REGISTERS_84 TILETUNE_REGISTERS_80 ", %80, %81, %82, %83"
#define TILETUNE_REGISTERS_88 TILETUNE_REGISTERS_84 ", %84, %85, %86, %87"
#define TILETUNE_REGISTERS_92 TILETUNE_REGISTERS_88 ", %88, %89, %90, %91"
#define TILETUNE_REGISTERS_96 TILETUNE_REGISTERS_92 ", %92, %93, %94, %95"
#define TILETUNE_REGISTERS_100 TILETUNE_REGISTERS_96 ", %96, %97, %98, %99"
#define TILETUNE_REGISTERS_104 TILETUNE_REGISTERS_100 ", %100, %101, %102, %103"
#define TILETUNE_REGISTERS_108 TILETUNE_REGISTERS_104 ", %104, %105, %106, %107"
#define TILETUNE_REGISTERS_112 TILETUNE_REGISTERS_108 ", %108, %109, %110, %111"
#define TILETUNE_REGISTERS_116 TILETUNE_REGISTERS_112 ", %112, %113, %114, %115"
#define TILETUNE_REGISTERS_120 TILETUNE_REGISTERS_116 ", %116, %117, %118, %119"
#define TILETUNE_REGISTERS_124 TILETUNE_REGISTERS_120 ", %120, %121, %122, %123"
#define TILETUNE_REGISTERS_128 TILETUNE_REGISTERS_124 ", %124, %125, %126, %127"
#define TILETUNE_FOUR(C, i) C(d[i]), C(d[i + 1]), C(d[i + 2]), C(d[i + 3])
#define TILETUNE_SUMS_4(C) TILETUNE_FOUR(C, 0)
#define TILETUNE_SUMS_8(C) TILETUNE_SUMS_4(C), TILETUNE_FOUR(C, 4)
#define TILETUNE_SUMS_12(C) TILETUNE_SUMS_8(C), TILETUNE_FOUR(C, 8)
#define TILETUNE_SUMS_16(C) TILETUNE_SUMS_12(C), TILETUNE_FOUR(C, 12)
#define TILETUNE_SUMS_20(C) TILETUNE_SUMS_16(C), TILETUNE_FOUR(C, 16)
#define TILETUNE_SUMS_24(C) TILETUNE_SUMS_20(C), TILETUNE_FOUR(C, 20)
#define TILETUNE_SUMS_28(C) TILETUNE_SUMS_24(C), TILETUNE_FOUR(C, 24)
#define TILETUNE_SUMS_32(C) TILETUNE_SUMS_28(C), TILETUNE_FOUR(C, 28)
#define TILETUNE_SUMS_36(C) TILETUNE_SUMS_32(C), TILETUNE_FOUR(C, 32)
#define TILETUNE_SUMS_40(C) TILETUNE_SUMS_36(C), TILETUNE_FOUR(C, 36)
#define TILETUNE_SUMS_44(C) TILETUNE_SUMS_40(C), TILETUNE_FOUR(C, 40)
#define TILETUNE_SUMS_48(C) TILETUNE_SUMS_44(C), TILETUNE_FOUR(C, 44)
#define TILETUNE_SUMS_52(C) TILETUNE_SUMS_48(C), TILETUNE_FOUR(C, 48)
#define TILETUNE_SUMS_56(C) TILETUNE_SUMS_52(C), TILETUNE_FOUR(C, 52)
#define TILETUNE_SUMS_60(C) TILETUNE_SUMS_56(C), TILETUNE_FOUR(C, 56)
#define TILETUNE_SUMS_64(C) TILETUNE_SUMS_60(C), TILETUNE_FOUR(C, 60)
#define TILETUNE_SUMS_68(C) TILETUNE_SUMS_64(C), TILETUNE_FOUR(C, 64)
#define TILETUNE_SUMS_72(C) TILETUNE_SUMS_68(C), TILETUNE_FOUR(C, 68)
#define TILETUNE_SUMS_76(C) TILETUNE_SUMS_72(C), TILETUNE_FOUR(C, 72)
#define TILETUNE_SUMS_80(C) TILETUNE_SUMS_76(C), TILETUNE_FOUR(C, 76)
#define TILETUNE_SUMS_84(C) TILETUNE_SUMS_80(C), TILETUNE_FOUR(C, 80)
#define TILETUNE_SUMS_88(C) TILETUNE_SUMS_84(C), TILETUNE_FOUR(C, 84)
#define TILETUNE_SUMS_92(C) TILETUNE_SUMS_88(C), TILETUNE_FOUR(C, 88)
#define TILETUNE_SUMS_96(C) TILETUNE_SUMS_92(C), TILETUNE_FOUR(C, 92)
#define TILETUNE_SUMS_100(C) TILETUNE_SUMS_96(C), TILETUNE_FOUR(C, 96)
#define TILETUNE_SUMS_104(C) TILETUNE_SUMS_100(C), TILETUNE_FOUR(C, 100)
#define TILETUNE_SUMS_108(C) TILETUNE_SUMS_104(C), TILETUNE_FOUR(C, 104)
#define TILETUNE_SUMS_112(C) TILETUNE_SUMS_108(C), TILETUNE_FOUR(C, 108)
#define TILETUNE_SUMS_116(C) TILETUNE_SUMS_112(C), TILETUNE_FOUR(C, 112)
#define TILETUNE_SUMS_120(C) TILETUNE_SUMS_116(C), TILETUNE_FOUR(C, 116)
#define TILETUNE_SUMS_124(C) TILETUNE_SUMS_120(C), TILETUNE_FOUR(C, 120)
#define TILETUNE_SUMS_128(C) TILETUNE_SUMS_124(C), TILETUNE_FOUR(C, 124)

// N, N / 2 sums, and the numbers of the operands behind them.
#define TILETUNE_WGMMA_16(T, TYPES, N, COUNT, A, B, ADDS, AT, BT)                                            \
  template <bool A_ACROSS, bool B_ACROSS>                                                                    \
  struct WarpgroupProduct<T, N, A_ACROSS, B_ACROSS> {                                                        \
    static __device__ __forceinline__ void start(float (&d)[COUNT], unsigned long long a,                    \
                                                 unsigned long long b, bool adds) {                          \
      asm volatile(                                                                                          \
          "{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #ADDS ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N TYPES  \
          " {" TILETUNE_REGISTERS_##COUNT "}, %" #A ", %" #B ", adds, 1, 1, %" #AT ", %" #BT ";\n}"          \
          : TILETUNE_SUMS_##COUNT("+f")                                                                      \
          : "l"(a), "l"(b), "r"(static_cast<int>(adds)), "n"(A_ACROSS ? 1 : 0), "n"(B_ACROSS ? 1 : 0));      \
    }                                                                                                        \
  };
#define TILETUNE_WGMMA_K(T, SUM, C, TYPES, SCALES, N, COUNT, A, B, ADDS)                                     \
  template <>                                                                                                \
  struct WarpgroupProduct<T, N, false, false> {                                                              \
    static __device__ __forceinline__ void start(SUM(&d)[COUNT], unsigned long long a, unsigned long long b, \
                                                 bool adds) {                                                \
      asm volatile(                                                                                          \
          "{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #ADDS ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N TYPES  \
          " {" TILETUNE_REGISTERS_##COUNT "}, %" #A ", %" #B ", adds" SCALES ";\n}"                          \
          : TILETUNE_SUMS_##COUNT(C)                                                                         \
          : "l"(a), "l"(b), "r"(static_cast<int>(adds)));                                                    \
    }                                                                                                        \
  };
#define TILETUNE_WGMMA(N, COUNT, A, B, ADDS, AT, BT)                                                         \
  TILETUNE_WGMMA_16(f16, "k16.f32.f16.f16", N, COUNT, A, B, ADDS, AT, BT)                                    \
  TILETUNE_WGMMA_16(bf16, "k16.f32.bf16.bf16", N, COUNT, A, B, ADDS, AT, BT)                                 \
  TILETUNE_WGMMA_K(tf32, float, "+f", "k8.f32.tf32.tf32", ", 1, 1", N, COUNT, A, B, ADDS)                    \
  TILETUNE_WGMMA_K(e4m3, float, "+f", "k32.f32.e4m3.e4m3", ", 1, 1", N, COUNT, A, B, ADDS)                   \
  TILETUNE_WGMMA_K(e5m2, float, "+f", "k32.f32.e5m2.e5m2", ", 1, 1", N, COUNT, A, B, ADDS)
TILETUNE_WGMMA(8, 4, 4, 5, 6, 7, 8)
TILETUNE_WGMMA(16, 8, 8, 9, 10, 11, 12)
TILETUNE_WGMMA(24, 12, 12, 13, 14, 15, 16)
TILETUNE_WGMMA(32, 16, 16, 17, 18, 19, 20)
TILETUNE_WGMMA(40, 20, 20, 21, 22, 23, 24)
TILETUNE_WGMMA(48, 24, 24, 25, 26, 27, 28)
TILETUNE_WGMMA(56, 28, 28, 29, 30, 31, 32)
TILETUNE_WGMMA(64, 32, 32, 33, 34, 35, 36)
TILETUNE_WGMMA(72, 36, 36, 37, 38, 39, 40)
TILETUNE_WGMMA(80, 40, 40, 41, 42, 43, 44)
TILETUNE_WGMMA(88, 44, 44, 45, 46, 47, 48)
TILETUNE_WGMMA(96, 48, 48, 49, 50, 51, 52)
TILETUNE_WGMMA(104, 52, 52, 53, 54, 55, 56)
TILETUNE_WGMMA(112, 56, 56, 57, 58, 59, 60)
TILETUNE_WGMMA(120, 60, 60, 61, 62, 63, 64)
TILETUNE_WGMMA(128, 64, 64, 65, 66, 67, 68)
TILETUNE_WGMMA(136, 68, 68, 69, 70, 71, 72)
TILETUNE_WGMMA(144, 72, 72, 73, 74, 75, 76)
TILETUNE_WGMMA(152, 76, 76, 77, 78, 79, 80)
TILETUNE_WGMMA(160, 80, 80, 81, 82, 83, 84)
TILETUNE_WGMMA(168, 84, 84, 85, 86, 87, 88)
TILETUNE_WGMMA(176, 88, 88, 89, 90, 91, 92)
TILETUNE_WGMMA(184, 92, 92, 93, 94, 95, 96)
TILETUNE_WGMMA(192, 96, 96, 97, 98, 99, 100)
TILETUNE_WGMMA(200, 100, 100, 101, 102, 103, 104)
TILETUNE_WGMMA(208, 104, 104, 105, 106, 107, 108)
TILETUNE_WGMMA(216, 108, 108, 109, 110, 111, 112)
TILETUNE_WGMMA(224, 112, 112, 113, 114, 115, 116)
TILETUNE_WGMMA(232, 116, 116, 117, 118, 119, 120)
TILETUNE_WGMMA(240, 120, 120, 121, 122, 123, 124)
TILETUNE_WGMMA(248, 124, 124, 125, 126, 127, 128)
TILETUNE_WGMMA(256, 128, 128, 129, 130, 131, 132)
// Integers have neither signs nor a choice of rows: the instruction takes no such operands.
#define TILETUNE_WGMMA_INTEGERS(N, COUNT, A, B, ADDS) \
  TILETUNE_WGMMA_K(i8, int, "+r", "k32.s32.s8.s8", "", N, COUNT, A, B, ADDS)
TILETUNE_WGMMA_INTEGERS(8, 4, 4, 5, 6)
TILETUNE_WGMMA_INTEGERS(16, 8, 8, 9, 10)
TILETUNE_WGMMA_INTEGERS(24, 12, 12, 13, 14)
TILETUNE_WGMMA_INTEGERS(32, 16, 16, 17, 18)
TILETUNE_WGMMA_INTEGERS(48, 24, 24, 25, 26)
TILETUNE_WGMMA_INTEGERS(64, 32, 32, 33, 34)
TILETUNE_WGMMA_INTEGERS(80, 40, 40, 41, 42)
TILETUNE_WGMMA_INTEGERS(96, 48, 48, 49, 50)
TILETUNE_WGMMA_INTEGERS(112, 56, 56, 57, 58)
TILETUNE_WGMMA_INTEGERS(128, 64, 64, 65, 66)
TILETUNE_WGMMA_INTEGERS(144, 72, 72, 73, 74)
TILETUNE_WGMMA_INTEGERS(160, 80, 80, 81, 82)
TILETUNE_WGMMA_INTEGERS(176, 88, 88, 89, 90)
TILETUNE_WGMMA_INTEGERS(192, 96, 96, 97, 98)
TILETUNE_WGMMA_INTEGERS(208, 104, 104, 105, 106)
TILETUNE_WGMMA_INTEGERS(224, 112, 112, 113, 114)
TILETUNE_WGMMA_INTEGERS(240, 120, 120, 121, 122)
TILETUNE_WGMMA_INTEGERS(256, 128, 128, 129, 130)
