#pragma once

#include "common/gemm.cuh"

// Four floats at a time: one 16-byte instruction instead of four, where addresses are multiples of 16 bytes.

__device__ __forceinline__ float4 load_quad(const float* address) {
  return *reinterpret_cast<const float4*>(address);
}

__device__ __forceinline__ void store_quad(float* address, float4 value) {
  *reinterpret_cast<float4*>(address) = value;
}

/// VEC neighbouring floats in one instruction, where the address is a multiple of as many: 1, 2 or 4.
template <int VEC>
__device__ __forceinline__ void load_vector(float (&values)[VEC], const float* address) {
  static_assert(VEC == 1 || VEC == 2 || VEC == 4, "the widths that loads have");
  if constexpr (VEC == 4) {
    const float4 quad = load_quad(address);
    values[0] = quad.x;
    values[1] = quad.y;
    values[2] = quad.z;
    values[3] = quad.w;
  } else if constexpr (VEC == 2) {
    const float2 pair = *reinterpret_cast<const float2*>(address);
    values[0] = pair.x;
    values[1] = pair.y;
  } else {
    values[0] = *address;
  }
}

template <int VEC>
__device__ __forceinline__ void store_vector(float* address, const float (&values)[VEC]) {
  if constexpr (VEC == 4) {
    store_quad(address, make_float4(values[0], values[1], values[2], values[3]));
  } else if constexpr (VEC == 2) {
    *reinterpret_cast<float2*>(address) = make_float2(values[0], values[1]);
  } else {
    *address = values[0];
  }
}

/// Whether every row of A, B and C starts on a 16-byte boundary. It then ends on one too, so no quad
/// straddles an edge. The same for all threads: a branch on it does not diverge.
__device__ __forceinline__ bool rows_are_aligned(const float* A, const float* B, const float* C, int N,
                                                 int K) {
  const size_t addresses =
      reinterpret_cast<size_t>(A) | reinterpret_cast<size_t>(B) | reinterpret_cast<size_t>(C);
  return N % 4 == 0 && K % 4 == 0 && addresses % 16 == 0;
}

enum class Operand {
  a,  // a row of the matrix runs along k
  b   // a row of the matrix crosses k
};

/// One thread's share of bringing tiles of A (EXTENT = BM) or B (EXTENT = BN) from global memory to registers
/// and from there to shared memory, where both lie as BK rows of EXTENT floats. VEC floats go in one
/// instruction: rows must start on boundaries of VEC floats and consist of whole vectors. Neighbouring
/// threads take neighbouring vectors of a row.
///
/// The first tile is the one that K may cut short; all later ones are whole, and reading them needs no
/// predicate: beyond the last row of A or the last column of B a thread reads one of its others again. Such
/// values reach only elements of C that do not exist.
template <Operand OPERAND, int THREADS, int EXTENT, int BK, int VEC>
struct TileReader {
  static constexpr int kPerRow = (OPERAND == Operand::a ? BK : EXTENT) / VEC;  ///< vectors
  static constexpr int kAcross = kPerRow > THREADS ? kPerRow / THREADS : 1;    ///< of a thread in one row
  static constexpr int kRowStep = kPerRow > THREADS ? 1 : THREADS / kPerRow;   ///< between a thread's rows
  static constexpr int kCount = EXTENT * BK / VEC / THREADS, kRows = kCount / kAcross;
  static_assert(kRows * kAcross * VEC * THREADS == EXTENT * BK, "threads cover the tile exactly");

  /// Rows whose addresses the thread keeps. From the first of many it walks down to the others: so many
  /// addresses would not fit beside the accumulators.
  static constexpr int kKept = kRows <= 4 ? kRows : 1;

  const float* address[kKept * kAcross];  ///< of vectors in the tile to be read next
  long long step;                         ///< from a row of the thread to its next
  int tile_row, tile_column;              ///< of the first vector
  int rows;                               ///< of the thread that exist, if any
  float vectors[kCount][VEC];

  /// `extent` is M or N, `first` the tile's first row in A or column in B; rows of the matrix are `pitch`
  /// apart.
  __device__ __forceinline__ TileReader(const float* matrix, int extent, int pitch, int first)
      : step(static_cast<long long>(kRowStep) * pitch),
        tile_row(threadIdx.x / kPerRow),
        tile_column(threadIdx.x % kPerRow * VEC) {
    rows = OPERAND == Operand::a ? (extent - 1 - first - tile_row) / kRowStep + 1 : kRows;
#pragma unroll
    for (int i = 0; i < kKept * kAcross; ++i) {
      const int row = OPERAND == Operand::a ? min(first + row_of(i), extent - 1) : row_of(i);
      const int column = OPERAND == Operand::a ? column_of(i) : min(first + column_of(i), extent - VEC);
      address[i] = matrix + static_cast<long long>(row) * pitch + column;
    }
  }

  /// Where the i-th vector lies in the tile, as the matrix has it.
  __device__ __forceinline__ int row_of(int i) const { return tile_row + i / kAcross * kRowStep; }
  __device__ __forceinline__ int column_of(int i) const { return tile_column + i % kAcross * THREADS * VEC; }

  /// Reads the vectors that `wanted` says; the others are zero.
  template <class Wanted>
  __device__ __forceinline__ void read_if(Wanted wanted) {
#pragma unroll
    for (int across = 0; across < kAcross; ++across) {
      const float* place;
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        const int i = row * kAcross + across;
        if (row < kKept) {
          place = address[i];
        } else if (row < rows) {
          place += step;
        }
#pragma unroll
        for (int j = 0; j < VEC; ++j) vectors[i][j] = 0.0f;
        if (wanted(i)) load_vector(vectors[i], place);
      }
    }
  }

  /// Reads from the first tile what belongs to the first `depth` values of k; the rest is zero.
  __device__ __forceinline__ void read_first(int depth) {
    read_if([&](int i) { return (OPERAND == Operand::a ? column_of(i) : row_of(i)) < depth; });
  }

  /// Reads from a whole tile.
  __device__ __forceinline__ void read() {
    read_if([](int) { return true; });
  }

  /// Goes on by `distance` floats.
  __device__ __forceinline__ void advance(long long distance) {
#pragma unroll
    for (int i = 0; i < kKept * kAcross; ++i) address[i] += distance;
  }

  /// Writes to the tile in shared memory, whose rows are ROW floats apart; A is transposed on the way.
  template <int ROW>
  __device__ __forceinline__ void store(float* tile) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (OPERAND == Operand::b) {
        store_vector(tile + row_of(i) * ROW + column_of(i), vectors[i]);
      } else {
#pragma unroll
        for (int j = 0; j < VEC; ++j) tile[(column_of(i) + j) * ROW + row_of(i)] = vectors[i][j];
      }
    }
  }
};

/// Reads a thread's fragment of shared memory: COUNT floats as patches of PATCH neighbours that start STRIDE
/// floats apart.
template <int PATCH, int STRIDE, int COUNT>
__device__ __forceinline__ void load_fragment(float (&fragment)[COUNT], const float* address) {
#pragma unroll
  for (int i = 0; i < COUNT; i += 4) {
    const float4 quad = load_quad(address + i / PATCH * STRIDE + i % PATCH);
    fragment[i] = quad.x;
    fragment[i + 1] = quad.y;
    fragment[i + 2] = quad.z;
    fragment[i + 3] = quad.w;
  }
}

/// Finishes four neighbouring elements of C from (row, column) on, as far as they exist. Rows are `pitch`
/// apart and as VEC asks for: see TileReader.
template <int VEC>
__device__ __forceinline__ void store_results(float* C, int M, int N, int pitch, int row, int column,
                                              float alpha, const float* sums, float beta) {
  if (row >= M) return;
  float* c = C + static_cast<long long>(row) * pitch + column;
  float results[4 / VEC][VEC] = {};
  if (beta != 0.0f) {
#pragma unroll
    for (int i = 0; i < 4; i += VEC) {
      if (column + i < N) load_vector(results[i / VEC], c + i);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; i += VEC) {
    if (column + i >= N) continue;
#pragma unroll
    for (int j = 0; j < VEC; ++j) results[i / VEC][j] = alpha * sums[i + j] + beta * results[i / VEC][j];
    store_vector(c + i, results[i / VEC]);
  }
}
