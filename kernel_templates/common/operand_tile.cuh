#pragma once

#include "common/async_copy.cuh"
#include "common/mma.cuh"

// Tiles of the operands of C = A * B in shared memory, for products on tensor cores: how they get there, and
// how a warp reads its fragments.

/// Whether A (M x K) and B (K x N) are stored as they are, n, or transposed, t.
enum Layout { nn, nt, tn, tt };

/// How the 16-byte chunks of a tile lie in shared memory.
enum Storage {
  plain,    // line after line: the eight lines that an ldmatrix reads share their banks
  padded,   // each line 16 bytes longer
  swizzled,  // chunk c of line r in the place of chunk c ^ r
  blocks     // blocks of 128 bytes of every line one after another, each swizzled: as TMA and wgmma have them
};

/// LINES lines of LENGTH elements of T; a line is what lies side by side in global memory.
template <class T, int LINES, int LENGTH, Storage STORAGE>
struct OperandTile {
  using Element = T;
  static constexpr int kLines = LINES;
  static constexpr int kLength = LENGTH;
  static constexpr int kChunk = 16 / sizeof(T);  ///< elements of a chunk
  static constexpr int kChunks = LENGTH / kChunk;
  static constexpr int kPitch = (kChunks + (STORAGE == padded ? 1 : 0)) * 16;  ///< bytes of a line
  static constexpr int kBytes = LINES * kPitch;
  static_assert(LENGTH % kChunk == 0, "lines are made of whole chunks");
  static_assert(STORAGE != blocks || kChunks % 8 == 0, "lines are made of whole blocks");

  /// Bytes from the tile's start to that chunk.
  static __device__ __forceinline__ unsigned offset(int line, int chunk) {
    if constexpr (STORAGE == blocks)
      return chunk / 8 * (LINES * 128) + line * 128 + (chunk % 8 ^ line % 8) * 16;
    if constexpr (STORAGE == swizzled) {
      // Lines shorter than the 128 bytes of all banks share them with their neighbours.
      constexpr int kSwapped = kChunks % 8 == 0 ? 8 : kChunks % 4 == 0 ? 4 : kChunks % 2 == 0 ? 2 : 1;
      chunk ^= line / (8 / kSwapped) % kSwapped;
    }
    return line * kPitch + chunk * 16;
  }
};

/// A thread's part in copying tiles from a matrix in global memory: VEC elements at a time, which start on a
/// boundary of as many. CHECKED: tiles may reach beyond the matrix, zeros stand for what lies there.
template <class Tile, int THREADS, int VEC, bool CHECKED>
class TileCopy {
 public:
  using T = typename Tile::Element;
  static constexpr int kBytes = VEC * sizeof(T);
  static constexpr int kAcross = Tile::kLength / VEC;
  static constexpr int kCopies = Tile::kLines * kAcross / THREADS;
  static_assert(Tile::kLines * kAcross % THREADS == 0, "the threads cover the tile exactly");
  static_assert(THREADS % kAcross == 0, "a thread's copies lie below each other");

  /// The matrix has `lines` lines of `length` elements, `pitch` elements apart; the tile starts at (line, at).
  __device__ __forceinline__ TileCopy(const T* matrix, int lines, int length, int pitch, int line, int at)
      : lines_(lines), length_(length), pitch_(pitch) {
    line_ = line + own_line();
    at_ = at + own_at();
    from_ = matrix + static_cast<long long>(line_) * pitch + at_;
  }

  /// Starts copying the tile to shared memory.
  __device__ __forceinline__ void copy(unsigned tile) const {
    const int left = CHECKED ? min(max(length_ - at_, 0), VEC) * static_cast<int>(sizeof(T)) : kBytes;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int line = i * (THREADS / kAcross);
      const bool inside = !CHECKED || line_ + line < lines_;
      const unsigned to = tile + Tile::offset(own_line() + line, own_at() / Tile::kChunk) +
                          own_at() % Tile::kChunk * sizeof(T);
      copy_vector(to, from_ + static_cast<long long>(line) * pitch_, inside ? left : 0);
    }
  }
  /// The next tile lies that much further.
  __device__ __forceinline__ void move_along_lines(int elements) {
    at_ += elements;
    from_ += elements;
  }
  __device__ __forceinline__ void move_across_lines(int lines) {
    line_ += lines;
    from_ += static_cast<long long>(lines) * pitch_;
  }

 private:
  static __device__ __forceinline__ int own_line() { return threadIdx.x / kAcross; }
  static __device__ __forceinline__ int own_at() { return threadIdx.x % kAcross * VEC; }

  /// The first `bytes` of a vector, zeros behind them. Copies of fewer than 4 bytes are not asynchronous.
  __device__ __forceinline__ void copy_vector(unsigned to, const T* from, int bytes) const {
    if constexpr (kBytes >= 4) {
      if constexpr (CHECKED) {
        copy_async_first<kBytes>(to, from, bytes);
      } else {
        copy_async<kBytes>(to, from);
      }
    } else {
      unsigned short value = 0;
      if (bytes == 2) value = *reinterpret_cast<const unsigned short*>(from);
      if (bytes > 0 && kBytes == 1) value = *reinterpret_cast<const unsigned char*>(from);
      if constexpr (kBytes == 2)
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(value) : "memory");
      else
        asm volatile("st.shared.u8 [%0], %1;" ::"r"(to), "h"(value) : "memory");
    }
  }

  int lines_, length_, pitch_;
  int line_, at_;  ///< of the thread's first vector
  const T* from_;
};
