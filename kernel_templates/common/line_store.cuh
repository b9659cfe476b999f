#pragma once

#include "common/box_store.cuh"

/// A warpgroup's store of its tile of C, 16-bit elements, where lines of C may start anywhere: each warp
/// stages 16 rows in shared memory, and its lanes write what lies between two 16-byte boundaries in one
/// piece, taken from two neighbouring chunks. Only the 8 elements before the first boundary of a row and
/// behind the last one are written one by one.
template <class Out, class Tile, int ROWS, int N>
class LineStore {
 public:
  static constexpr int kWidth = N % 128 == 0 ? 128 : 64;  ///< columns that are staged at a time
  static constexpr int kBytes = 4 * 16 * kWidth * 2;      ///< of shared memory per warpgroup
  static_assert(sizeof(Out) == 2 && N % 64 == 0, "whole blocks of 16-bit elements");

  /// Of finished sums, the first of them at (row, column).
  template <class Finish>
  static __device__ __forceinline__ void store(const Tile& tile, const Finish& finish, int row, int column,
                                               unsigned staging, int thread) {
    const int warp = thread / 32, lane = thread % 32;
    const unsigned lines = staging + warp * (kBytes / 4);
#pragma unroll
    for (int m = 0; m < ROWS / 64; ++m) {
#pragma unroll
      for (int n = 0; n < N / kWidth; ++n) {
        __syncwarp();  // the columns before these have been read
        stage(&tile.sum[m][n * kWidth / 2], lines, lane);
        __syncwarp();
        write(finish, row + m * 64 + warp * 16, column + n * kWidth, lines, lane);
      }
    }
  }

 private:
  static constexpr int kChunks = kWidth / 8;  ///< of 16 bytes in a line

  static __device__ __forceinline__ unsigned place(unsigned lines, int row, int chunk) {
    return lines + row * kWidth * 2 + (chunk ^ row % 8) * 16;
  }
  static __device__ __forceinline__ void stage(const float* sums, unsigned lines, int lane) {
#pragma unroll
    for (int i = 0; i < kWidth / 16; ++i) {
      const float* eight = sums + i * 8;
      store_matrices(place(lines, lane % 16, i * 2 + lane / 16), pack<Out>(eight[0], eight[1]),
                     pack<Out>(eight[2], eight[3]), pack<Out>(eight[4], eight[5]),
                     pack<Out>(eight[6], eight[7]));
    }
  }
  static __device__ __forceinline__ void load_chunk(unsigned* words, unsigned address) {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
  }
  /// Elements from here to the next 16-byte boundary.
  static __device__ __forceinline__ int head_of(const Out* line) {
    return static_cast<int>(-(reinterpret_cast<unsigned long long>(line) / 2) % 8);
  }

  template <class Finish>
  static __device__ __forceinline__ void write(const Finish& finish, int row, int column, unsigned lines,
                                               int lane) {
#pragma unroll 1
    for (int r = lane / kChunks; r < 16 && row + r < finish.M; r += 32 / kChunks) {
      Out* const line = finish.at(row + r, column);
      const int head = head_of(line), chunk = lane % kChunks, first = head + chunk * 8;
      if (first + 8 > kWidth) continue;
      unsigned words[8];
      load_chunk(words, place(lines, r, chunk));
      load_chunk(words + 4, place(lines, r, min(chunk + 1, kChunks - 1)));  // of no use where head is 0
      write_eight(reinterpret_cast<unsigned short*>(line + first), finish.N - column - first, words, head);
    }
#pragma unroll 1
    for (int r = lane / 8; r < 16 && row + r < finish.M; r += 4) {
      Out* const line = finish.at(row + r, column);
      const int head = head_of(line), at = lane % 8 < head ? lane % 8 : kWidth - 8 + lane % 8;
      if (head == 0 || column + at >= finish.N) continue;
      unsigned short element;
      asm volatile("ld.shared.u16 %0, [%1];"
                   : "=h"(element)
                   : "r"(place(lines, r, at / 8) + at % 8 * 2)
                   : "memory");
      reinterpret_cast<unsigned short*>(line)[at] = element;
    }
  }
  /// Elements `head` to `head` + 7 of the words, as far as there are `left` in the row of C.
  static __device__ __forceinline__ void write_eight(unsigned short* to, int left, unsigned (&words)[8],
                                                     int head) {
#pragma unroll
    for (int elements = 4; elements > 1; elements /= 2) {
      if (head & elements) {
#pragma unroll
        for (int i = 0; i + elements / 2 < 8; ++i) words[i] = words[i + elements / 2];
      }
    }
    if (head & 1) {
#pragma unroll
      for (int i = 0; i < 4; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], 16);
    }
    if (left >= 8) {
      *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (i < left) to[i] = static_cast<unsigned short>(words[i / 2] >> i % 2 * 16);
    }
  }
};
