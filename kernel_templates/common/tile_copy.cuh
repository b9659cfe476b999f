#pragma once

#include "common/async_copy.cuh"
#include "common/quads.cuh"

// How the threads of a block bring tiles of A (EXTENT = BM rows) and of B (EXTENT = BN columns) to shared
// memory. All of these have the same members:
//
//   begin(tile, depth)  copies the first tile, of which only `depth` values of k exist; zeros follow
//   begin(tile)         copies the next whole tile, before the loop
//   copy(tile)          the same in the loop, where what needs registers was read by look_ahead() before
//   look_ahead()        reads the next tile to registers
//
// `tile` counts bytes from the tile that the constructor is given. CLAMP: the block tile may reach beyond the
// matrix. A thread then reads the last row or column again: such values reach only elements of C that do not
// exist.

/// A, transposed on the way, to BK rows of ROW floats, four bytes at a time. Eight neighbouring threads read
/// 32 neighbouring bytes of A; with ROW = BM + 4 a warp's 32 words fall on 32 banks.
template <int THREADS, int EXTENT, int BK, int ROW, bool CLAMP>
struct TransposingCopy {
  static constexpr int kDepth = 8;                ///< values of k side by side
  static constexpr int kRows = THREADS / kDepth;  ///< of A at a time
  static constexpr int kCount = EXTENT * BK / THREADS;
  static_assert(EXTENT % kRows == 0 && BK % kDepth == 0, "the threads cover the tile exactly");

  const float* from;
  unsigned to;         ///< of the first element
  int offset[kCount];  ///< of the elements in A, from the first one

  static constexpr __device__ int row_of(int i) { return i * kRows % EXTENT; }
  static constexpr __device__ int depth_of(int i) { return i * kRows / EXTENT * kDepth; }
  static constexpr __device__ int byte_of(int i) { return (depth_of(i) * ROW + row_of(i)) * 4; }

  __device__ __forceinline__ TransposingCopy(float* shared, const float* A, int M, int lda, int row, int k) {
    const int own_row = threadIdx.x / kDepth, own_k = threadIdx.x % kDepth;
    const int first = CLAMP ? min(row + own_row, M - 1) : row + own_row;
    from = A + static_cast<long long>(first) * lda + k + own_k;
    to = shared_address(shared) + (own_k * ROW + own_row) * 4;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int rows = CLAMP ? min(row + own_row + row_of(i), M - 1) - first : row_of(i);
      offset[i] = rows * lda + depth_of(i);
    }
  }
  __device__ __forceinline__ void begin(int tile, int depth) {
    const int own_k = threadIdx.x % kDepth;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      copy_async_first<4>(tile + to + byte_of(i), from + offset[i], own_k + depth_of(i) < depth ? 4 : 0);
    }
    from += depth;
  }
  __device__ __forceinline__ void begin(int tile) { copy(tile); }
  __device__ __forceinline__ void copy(int tile) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) copy_async<4>(tile + to + byte_of(i), from + offset[i]);
    from += BK;
  }
  __device__ __forceinline__ void look_ahead() {}
};

/// B as it is, BK rows of EXTENT floats, VEC floats at a time. A thread's share lies in one row.
template <int THREADS, int EXTENT, int BK, int VEC, bool CLAMP>
struct RowCopy {
  static constexpr int kPerRow = THREADS / BK;  ///< threads
  static constexpr int kStep = kPerRow * VEC;   ///< floats between two vectors of a thread
  static constexpr int kCount = EXTENT / kStep;
  static_assert(THREADS % BK == 0 && EXTENT % kStep == 0, "the threads cover the tile exactly");

  const float* from;
  unsigned to;
  int offset[kCount];
  int pitch;

  __device__ __forceinline__ RowCopy(float* shared, const float* B, int N, int ldb, int column, int k)
      : pitch(ldb) {
    const int own_k = threadIdx.x / kPerRow, own_column = threadIdx.x % kPerRow * VEC;
    const int first = CLAMP ? min(column + own_column, N - VEC) : column + own_column;
    from = B + static_cast<long long>(k + own_k) * ldb + first;
    to = shared_address(shared) + (own_k * EXTENT + own_column) * 4;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      offset[i] = CLAMP ? min(column + own_column + i * kStep, N - VEC) - first : i * kStep;
    }
  }
  __device__ __forceinline__ void begin(int tile, int depth) {
    const int bytes = static_cast<int>(threadIdx.x) / kPerRow < depth ? VEC * 4 : 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      copy_async_first<VEC * 4>(tile + to + i * kStep * 4, from + offset[i], bytes);
    }
    from += static_cast<long long>(depth) * pitch;
  }
  __device__ __forceinline__ void begin(int tile) { copy(tile); }
  __device__ __forceinline__ void copy(int tile) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) copy_async<VEC * 4>(tile + to + i * kStep * 4, from + offset[i]);
    from += static_cast<long long>(BK) * pitch;
  }
  __device__ __forceinline__ void look_ahead() {}
};

/// Which of the quads of a row of A lies where, when a tile keeps rows of BK floats: quad q of row r at place
/// q ^ row_swizzle(r). Rows that a warp reads at the same k then fall on different banks. The patterns are
/// those of bulk copies with a swizzle of 32, 64 and 128 bytes.
template <int BK>
__host__ __device__ constexpr int row_swizzle(int row) {
  static_assert(BK == 8 || BK == 16 || BK == 32, "a row of 32, 64 or 128 bytes");
  return BK == 8 ? row / 4 % 2 : BK == 16 ? row / 2 % 4 : row % 8;
}

/// A as it is, EXTENT rows of BK floats with swizzled quads, 16 bytes at a time.
template <int THREADS, int EXTENT, int BK, bool CLAMP>
struct QuadCopy {
  static constexpr int kPerRow = BK / 4;  ///< threads
  static constexpr int kRows = THREADS / kPerRow;
  static constexpr int kCount = EXTENT / kRows;
  static_assert(THREADS % kPerRow == 0 && EXTENT % kRows == 0, "the threads cover the tile exactly");

  const float* from;
  unsigned to[kCount];
  int offset[kCount];

  __device__ __forceinline__ QuadCopy(float* shared, const float* A, int M, int lda, int row, int k) {
    const int own_row = threadIdx.x / kPerRow, own_quad = threadIdx.x % kPerRow;
    const int first = CLAMP ? min(row + own_row, M - 1) : row + own_row;
    from = A + static_cast<long long>(first) * lda + k + own_quad * 4;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int r = own_row + i * kRows;
      to[i] = shared_address(shared) + (r * BK + (own_quad ^ row_swizzle<BK>(r)) * 4) * 4;
      offset[i] = (CLAMP ? min(row + r, M - 1) - first : i * kRows) * lda;
    }
  }
  __device__ __forceinline__ void begin(int tile, int depth) {
    const int left = depth - static_cast<int>(threadIdx.x) % kPerRow * 4;
    const int bytes = max(0, min(left, 4)) * 4;
#pragma unroll
    for (int i = 0; i < kCount; ++i) copy_async_first<16>(tile + to[i], from + offset[i], bytes);
    from += depth;
  }
  __device__ __forceinline__ void begin(int tile) { copy(tile); }
  __device__ __forceinline__ void copy(int tile) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) copy_async<16>(tile + to[i], from + offset[i]);
    from += BK;
  }
  __device__ __forceinline__ void look_ahead() {}
};

/// Through registers: A is transposed on the way to BK rows of ROW floats (OPERAND a), B stays as it is
/// (OPERAND b). The loop stores what was read one tile earlier.
template <Operand OPERAND, int THREADS, int EXTENT, int BK, int ROW, int VEC>
struct StagedCopy {
  TileReader<OPERAND, THREADS, EXTENT, BK, VEC> reader;
  float* shared;
  int pitch;

  /// `extent` is M or N; `first` the tile's first row of A or column of B.
  __device__ __forceinline__ StagedCopy(float* tile, const float* matrix, int extent, int ld, int first,
                                        int k)
      : reader(matrix + (OPERAND == Operand::a ? k : static_cast<long long>(k) * ld), extent, ld, first),
        shared(tile),
        pitch(OPERAND == Operand::a ? 1 : ld) {}
  __device__ __forceinline__ void store(int tile) { reader.template store<ROW>(shared + tile / 4); }
  __device__ __forceinline__ void begin(int tile, int depth) {
    reader.read_first(depth);
    reader.advance(static_cast<long long>(depth) * pitch);
    store(tile);
  }
  __device__ __forceinline__ void begin(int tile) {
    look_ahead();
    store(tile);
  }
  __device__ __forceinline__ void copy(int tile) { store(tile); }
  __device__ __forceinline__ void look_ahead() {
    reader.read();
    reader.advance(static_cast<long long>(BK) * pitch);
  }
};
