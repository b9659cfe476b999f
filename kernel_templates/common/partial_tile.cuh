#pragma once

#include "common/peers.cuh"
#include "common/warpgroup_tile.cuh"

/// The sums of a warpgroup's tile on their way to another GPU, in the order in which its threads hold them:
/// the same thread of the warpgroup that computes the same tile there takes them up. Partial: their type,
/// f32, or 16 bits to which they are rounded.
template <class Partial, class Tile, int ROWS, int N>
class PartialTile {
 public:
  static constexpr int kPerWord = 4 / sizeof(Partial);               ///< sums in 32 bits
  static constexpr int kVectors = ROWS / 64 * N / 2 / kPerWord / 4;  ///< of 16 bytes, per thread
  static constexpr int kBytes = kVectors * 128 * 16;
  static_assert(ROWS / 64 * N / 2 % (kPerWord * 4) == 0, "whole vectors");

  /// To shared memory.
  static __device__ __forceinline__ void stage(const Tile& tile, unsigned staging, int thread) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const uint4 four = vector(tile, i);
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(staging + (i * 128 + thread) * 16),
                   "r"(four.x), "r"(four.y), "r"(four.z), "r"(four.w)
                   : "memory");
    }
  }
  /// To global memory.
  static __device__ __forceinline__ void store(const Tile& tile, Partial* to, int thread) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) reinterpret_cast<uint4*>(to)[i * 128 + thread] = vector(tile, i);
  }
  /// Adds what another GPU has sent.
  static __device__ __forceinline__ void add(Tile& tile, const Partial* sent, int thread) {
    constexpr int kAtOnce = kVectors % 8 == 0 ? 8 : kVectors % 4 == 0 ? 4 : 1;  // reads under way
    float* sums = tile.sum[0];
    const uint4* vectors = reinterpret_cast<const uint4*>(sent) + thread;
#pragma unroll
    for (int i = 0; i < kVectors; i += kAtOnce) {
      uint4 four[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) four[j] = load_sent(vectors + (i + j) * 128);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        float* next = sums + (i + j) * 4 * kPerWord;
        add_word(next, four[j].x);
        add_word(next + kPerWord, four[j].y);
        add_word(next + 2 * kPerWord, four[j].z);
        add_word(next + 3 * kPerWord, four[j].w);
      }
    }
  }

 private:
  static __device__ __forceinline__ uint4 vector(const Tile& tile, int i) {
    const float* next = tile.sum[0] + i * 4 * kPerWord;
    return make_uint4(word(next), word(next + kPerWord), word(next + 2 * kPerWord),
                      word(next + 3 * kPerWord));
  }
  static __device__ __forceinline__ unsigned word(const float* sums) {
    if constexpr (kPerWord == 1) {
      // Not __float_as_uint: where their bits are asked for, the compiler holds sums as integers, and copies
      // them before the wait for their products.
      unsigned bits;
      asm volatile("mov.b32 %0, %1;" : "=r"(bits) : "f"(sums[0]) : "memory");
      return bits;
    } else {
      return pack<Partial>(sums[0], sums[1]);
    }
  }
  static __device__ __forceinline__ void add_word(float* sums, unsigned word) {
    if constexpr (kPerWord == 1) {
      sums[0] += __uint_as_float(word);
    } else {
      const float2 two = unpack<Partial>(word);
      sums[0] += two.x;
      sums[1] += two.y;
    }
  }
};
