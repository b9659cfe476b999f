#pragma once

#include "common/cluster.cuh"
#include "common/epilogue.cuh"

// From a warpgroup's sums to C by way of shared memory, in boxes of 128 bytes by some rows: the tensor core's
// layout is left there, 16-bit elements with stmatrix, and bulk copies write whole lines.

/// Stores four 8 x 8 matrices; lanes 8i to 8i + 7 give the addresses of the rows of matrix i. Each lane has of
/// every matrix elements 2 * (l % 4) and the next of row l / 4.
__device__ __forceinline__ void store_matrices(unsigned address, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}
/// The same, each matrix transposed.
__device__ __forceinline__ void store_transposed_matrices(unsigned address, unsigned a, unsigned b, unsigned c,
                                                          unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}
__device__ __forceinline__ void store_transposed_matrices(unsigned address, unsigned a, unsigned b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(a), "r"(b)
               : "memory");
}

/// Stores two neighbours of 32 bits, at a multiple of 8 bytes. Sums go there as what they are: where their bits
/// are asked for, the compiler holds them as integers, and copies them before the wait for their products.
__device__ __forceinline__ void store_words(unsigned address, float first, float second) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(first), "f"(second) : "memory");
}
__device__ __forceinline__ void store_words(unsigned address, int first, int second) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(first), "r"(second) : "memory");
}

/// The largest number of rows, a multiple of 8 up to 64, that divides ROWS.
template <int ROWS>
constexpr int box_rows(int rows = 64) {
  return ROWS % rows == 0 ? rows : box_rows<ROWS>(rows - 8);
}

/// A warpgroup's store of its tile. TRANSPOSED: the sums are those of C's transpose, whose rows are C's
/// columns. WHOLE: all boxes are staged before the first is stored, else two at a time.
template <class Out, class Tile, int ROWS, int N, bool TRANSPOSED, bool WHOLE>
class BoxStore {
 public:
  static constexpr int kRows = TRANSPOSED ? box_rows<N>() : WHOLE ? 64 : 16;  ///< of a box
  static constexpr int kColumns = 128 / sizeof(Out);
  static constexpr int kAcross = (N - 1) / kColumns + 1;  ///< boxes beside each other
  /// Bytes of shared memory per warpgroup.
  static constexpr int kBytes =
      WHOLE ? (TRANSPOSED ? N * 2 : kAcross * 128) * ROWS : TRANSPOSED ? 2 * kRows * 128 : 4 * 2 * 16 * 128;
  static_assert(sizeof(Out) == 2 || !TRANSPOSED && !WHOLE, "stmatrix, which transposes, stores 16-bit elements");
  static_assert(TRANSPOSED || N >= kColumns, "a whole box");

  /// `staging`: the warpgroup's shared memory, on a boundary of 1024 bytes. `barrier`: one of its own.
  static __device__ __forceinline__ void store(const Tile& tile, const TensorMap* map, int row, int column,
                                               unsigned staging, int barrier, int thread) {
    if constexpr (TRANSPOSED)
      store_transposed(tile, map, row, column, staging, barrier, thread);
    else if constexpr (WHOLE)
      store_whole(tile, map, row, column, staging, barrier, thread);
    else
      store_by_warps(tile, map, row, column, staging, thread);
  }

 private:
  /// First of the tile's columns in box `number`, where C's columns are the tile's. The last box may begin
  /// within the one before it: some columns are then stored twice, with the same values.
  static __device__ __forceinline__ constexpr int column_of(int number) {
    return number * kColumns + kColumns <= N ? number * kColumns : N - kColumns;
  }
  static __device__ __forceinline__ unsigned word(const float* sums) { return pack<Out>(sums[0], sums[1]); }

  /// Boxes of a tile take two places in turn. The thread that stores them waits until what was in the place
  /// of box `number` has been read. Every tile begins with the same place: after an odd number of boxes it is
  /// that of the newest store, which may still be reading where the next tile takes few steps.
  static __device__ __forceinline__ void wait_for_place(int number) {
    constexpr int kStores = ROWS / 64 * (TRANSPOSED ? N / kRows : kAcross);
    if (kStores % 2 != 0 && number == 0)
      wait_until_stores_have_read<0>();
    else
      wait_until_stores_have_read<1>();
  }

  /// 16 rows of a warp by kColumns columns to a box of 128-byte rows.
  template <class Value>
  static __device__ __forceinline__ void stage_rows(const Value* sums, unsigned box, int lane) {
    if constexpr (sizeof(Out) == 2) {
      const int row = lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* eight = sums + i * 8;
        store_matrices(box + row * 128 + ((i * 2 + lane / 16) ^ row % 8) * 16, word(eight), word(eight + 2),
                       word(eight + 4), word(eight + 6));
      }
    } else {
      // Four rows are stored at a time: the odd ones in another order, so that each uses its own banks.
      const int row = lane / 4;
      const bool odd = row % 2 == 1;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Value *own = sums + i * 4, *other = sums + (i ^ 2) * 4;
        const int chunk = (odd ? i ^ 2 : i) * 2 + lane % 4 / 2;
        const unsigned at = box + row * 128 + (chunk ^ row) * 16 + lane % 2 * 8;
        store_words(at, odd ? other[0] : own[0], odd ? other[1] : own[1]);
        store_words(at + 8 * 128, odd ? other[2] : own[2], odd ? other[3] : own[3]);
      }
    }
  }

  static __device__ __forceinline__ void store_by_warps(const Tile& tile, const TensorMap* map, int row,
                                                        int column, unsigned staging, int thread) {
    const int warp = thread / 32, lane = thread % 32;
#pragma unroll
    for (int m = 0; m < ROWS / 64; ++m) {
#pragma unroll
      for (int n = 0; n < kAcross; ++n) {
        const int number = m * kAcross + n;
        const unsigned box = staging + warp * 4096 + number % 2 * 2048;
        if (lane == 0) wait_for_place(number);
        __syncwarp();
        stage_rows(&tile.sum[m][column_of(n) / 2], box, lane);
        show_copies_to_tensor_cores();
        __syncwarp();
        if (lane == 0) {
          store_box(map, column + column_of(n), row + m * 64 + warp * 16, box);
          commit_stores();
        }
      }
    }
  }

  static __device__ __forceinline__ void store_whole(const Tile& tile, const TensorMap* map, int row, int column,
                                                     unsigned staging, int barrier, int thread) {
    if (thread == 0) wait_until_stores_have_read<0>();
    sync_threads(barrier, 128);
    const int warp = thread / 32, lane = thread % 32;
#pragma unroll
    for (int m = 0; m < ROWS / 64; ++m) {
#pragma unroll
      for (int n = 0; n < kAcross; ++n)
        stage_rows(&tile.sum[m][column_of(n) / 2], staging + (m * kAcross + n) * 8192 + warp * 2048, lane);
    }
    show_copies_to_tensor_cores();
    sync_threads(barrier, 128);
    if (thread != 0) return;
#pragma unroll
    for (int m = 0; m < ROWS / 64; ++m) {
#pragma unroll
      for (int n = 0; n < kAcross; ++n)
        store_box(map, column + column_of(n), row + m * 64, staging + (m * kAcross + n) * 8192);
    }
    commit_stores();
  }

  /// 64 columns of C by kRows rows from row `first` on.
  static __device__ __forceinline__ void stage_columns(const float* sums, unsigned box, int thread) {
    const int warp = thread / 32, lane = thread % 32, chunk = warp * 2 + lane / 8 % 2;
#pragma unroll
    for (int i = 0; i < kRows / 16; ++i) {
      const int row = i * 16 + lane / 16 * 8 + lane % 8;
      const float* eight = sums + i * 8;
      store_transposed_matrices(box + row * 128 + (chunk ^ row % 8) * 16, word(eight), word(eight + 2),
                                word(eight + 4), word(eight + 6));
    }
    if constexpr (kRows % 16 != 0) {
      const int row = kRows / 16 * 16 + lane % 8;
      const float* four = sums + kRows / 16 * 8;
      store_transposed_matrices(box + row * 128 + (chunk ^ row % 8) * 16, word(four), word(four + 2));
    }
  }

  static __device__ __forceinline__ void store_transposed(const Tile& tile, const TensorMap* map, int row,
                                                          int column, unsigned staging, int barrier, int thread) {
    constexpr int kBoxes = N / kRows;
    if constexpr (WHOLE) {
      if (thread == 0) wait_until_stores_have_read<0>();
      sync_threads(barrier, 128);
    }
#pragma unroll
    for (int m = 0; m < ROWS / 64; ++m) {
#pragma unroll
      for (int n = 0; n < kBoxes; ++n) {
        const int number = m * kBoxes + n;
        const unsigned box = staging + (WHOLE ? number : number % 2) * kRows * 128;
        if constexpr (!WHOLE) {
          if (thread == 0) wait_for_place(number);
          sync_threads(barrier, 128);
        }
        stage_columns(&tile.sum[m][n * kRows / 2], box, thread);
        if constexpr (!WHOLE) {
          show_copies_to_tensor_cores();
          sync_threads(barrier, 128);
          if (thread == 0) {
            store_box(map, column + m * 64, row + n * kRows, box);
            commit_stores();
          }
        }
      }
    }
    if constexpr (WHOLE) {
      show_copies_to_tensor_cores();
      sync_threads(barrier, 128);
      if (thread != 0) return;
#pragma unroll
      for (int m = 0; m < ROWS / 64; ++m) {
#pragma unroll
        for (int n = 0; n < kBoxes; ++n)
          store_box(map, column + m * 64, row + n * kRows, staging + (m * kBoxes + n) * kRows * 128);
      }
      commit_stores();
    }
  }
};
