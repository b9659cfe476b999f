#pragma once

#include "common/gemm.cuh"

// Four floats at a time: one 16-byte instruction instead of four, where addresses are multiples of 16 bytes.

__device__ __forceinline__ float4 load_quad(const float* address) {
  return *reinterpret_cast<const float4*>(address);
}

__device__ __forceinline__ void store_quad(float* address, float4 value) {
  *reinterpret_cast<float4*>(address) = value;
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
/// and from there to shared memory, where both lie as BK rows of EXTENT floats. VECTORS: rows_are_aligned().
///
/// The first tile is the one that K may cut short; all later ones are whole, and reading them needs no
/// predicate: beyond the last row of A or the last column of B a thread reads that row or column again. Such
/// values reach only elements of C that do not exist.
template <Operand OPERAND, int THREADS, int EXTENT, int BK, bool VECTORS>
struct TileReader {
  static constexpr int kQuadsPerRow = (OPERAND == Operand::a ? BK : EXTENT) / 4;
  static constexpr int kRowStep = THREADS / kQuadsPerRow;  ///< rows between two quads of a thread
  static constexpr int kCount = EXTENT * BK / 4 / THREADS;

  const float* address[kCount];  ///< of the quads in the tile to be read next
  int element[4];                ///< of a quad: 0, 1, 2, 3, less at the edge of B
  int tile_row, tile_column;     ///< of the first quad
  float4 quads[kCount];

  /// `extent` is M or N, `first` the tile's first row in A or column in B.
  __device__ __forceinline__ TileReader(const float* matrix, int extent, int K, int first)
      : tile_row(threadIdx.x / kQuadsPerRow), tile_column(threadIdx.x % kQuadsPerRow * 4) {
    const int place = first + (OPERAND == Operand::a ? tile_row : tile_column);
    const int last = extent - (OPERAND == Operand::b && VECTORS ? 4 : 1);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      element[j] = OPERAND == Operand::a || VECTORS ? j : min(place + j, last) - min(place, last);
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      address[i] = OPERAND == Operand::a
                       ? matrix + static_cast<long long>(min(place + i * kRowStep, last)) * K + tile_column
                       : matrix + static_cast<long long>(tile_row + i * kRowStep) * extent + min(place, last);
    }
  }

  /// Reads from the first tile what belongs to the first `depth` values of k; the rest is zero.
  __device__ __forceinline__ void read_first(int depth) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int k = OPERAND == Operand::a ? tile_column : tile_row + i * kRowStep;
      const int step = OPERAND == Operand::a ? 1 : 0;
      quads[i] = make_float4(k < depth ? address[i][element[0]] : 0.0f,
                             k + step < depth ? address[i][element[1]] : 0.0f,
                             k + 2 * step < depth ? address[i][element[2]] : 0.0f,
                             k + 3 * step < depth ? address[i][element[3]] : 0.0f);
    }
  }

  /// Reads from a whole tile.
  __device__ __forceinline__ void read() {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      quads[i] = VECTORS ? load_quad(address[i])
                         : make_float4(address[i][element[0]], address[i][element[1]], address[i][element[2]],
                                       address[i][element[3]]);
    }
  }

  /// Goes on by `distance` floats.
  __device__ __forceinline__ void advance(long long distance) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) address[i] += distance;
  }

  /// Writes to the tile in shared memory, whose rows are ROW floats apart; A is transposed on the way.
  template <int ROW>
  __device__ __forceinline__ void store(float* tile) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int row = tile_row + i * kRowStep;
      if (OPERAND == Operand::b) {
        store_quad(tile + row * ROW + tile_column, quads[i]);
      } else {
        tile[tile_column * ROW + row] = quads[i].x;
        tile[(tile_column + 1) * ROW + row] = quads[i].y;
        tile[(tile_column + 2) * ROW + row] = quads[i].z;
        tile[(tile_column + 3) * ROW + row] = quads[i].w;
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

/// Finishes four neighbouring elements of C from (row, column) on, as far as they exist.
template <bool VECTORS>
__device__ __forceinline__ void store_results(float* C, int M, int N, int row, int column, float alpha,
                                              const float* sums, float beta) {
  if (!VECTORS) {
    if (row >= M) return;
    float* c = C + static_cast<long long>(row) * N + column;
    float old[4] = {};
    if (beta != 0.0f) {
#pragma unroll
      for (int j = 0; j < 4; ++j) old[j] = column + j < N ? c[j] : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (column + j < N) c[j] = alpha * sums[j] + beta * old[j];
    }
  } else if (row < M && column < N) {
    float* c = C + static_cast<long long>(row) * N + column;
    float4 result = make_float4(alpha * sums[0], alpha * sums[1], alpha * sums[2], alpha * sums[3]);
    if (beta != 0.0f) {
      const float4 old = load_quad(c);
      result.x += beta * old.x;
      result.y += beta * old.y;
      result.z += beta * old.z;
      result.w += beta * old.w;
    }
    store_quad(c, result);
  }
}
