#include "common/tile_order.cuh"
#include "common/vectors.cuh"

/// VEC elements of BYTES bytes, packed into registers where they are smaller than these.
template <int BYTES, int VEC>
struct Packed {
  static constexpr bool kSmall = BYTES < 4 && BYTES * VEC >= 4;
  using Part = typename WordOf<kSmall ? 4 : BYTES>::Type;
  static constexpr int kParts = BYTES * VEC / sizeof(Part);
  using Row = Vector<Part, kParts>;
};

/// Transposes a square of VEC rows of VEC elements. Small elements are exchanged four rows of 4 bytes, or two
/// rows of 2 halves, at a time.
template <int BYTES, int VEC, class Row>
__device__ __forceinline__ void transpose_square(const Row (&from)[VEC], Row (&to)[VEC]) {
  using Elements = Packed<BYTES, VEC>;
  if constexpr (!Elements::kSmall) {
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
#pragma unroll
      for (int j = 0; j < VEC; ++j) to[k].at[j] = from[j].at[k];
    }
  } else {
    constexpr int kPer = 4 / BYTES;  // elements of a part
#pragma unroll
    for (int down = 0; down < Elements::kParts; ++down) {
#pragma unroll
      for (int across = 0; across < Elements::kParts; ++across) {
        const unsigned a = from[down * kPer].at[across];
        const unsigned b = from[down * kPer + 1].at[across];
        if constexpr (BYTES == 2) {
          to[across * 2].at[down] = __byte_perm(a, b, 0x5410);
          to[across * 2 + 1].at[down] = __byte_perm(a, b, 0x7632);
        } else {
          const unsigned c = from[down * 4 + 2].at[across];
          const unsigned d = from[down * 4 + 3].at[across];
          const unsigned low_ab = __byte_perm(a, b, 0x5140);
          const unsigned high_ab = __byte_perm(a, b, 0x7362);
          const unsigned low_cd = __byte_perm(c, d, 0x5140);
          const unsigned high_cd = __byte_perm(c, d, 0x7362);
          to[across * 4].at[down] = __byte_perm(low_ab, low_cd, 0x5410);
          to[across * 4 + 1].at[down] = __byte_perm(low_ab, low_cd, 0x7632);
          to[across * 4 + 2].at[down] = __byte_perm(high_ab, high_cd, 0x5410);
          to[across * 4 + 3].at[down] = __byte_perm(high_ab, high_cd, 0x7632);
        }
      }
    }
  }
}

// Every access to global and shared memory moves VEC elements. A thread reads VEC vectors below each other,
// transposes this square in registers, and writes it as VEC vectors to shared memory, which holds the
// transposed tile; its rows are then copied to global memory. SWIZZLE: vector j of a row is kept at j XOR s,
// where s grows by one from a square to its right neighbour. Threads that write squares beside each other
// then use different banks, and the vectors of a row remain a permutation, so that reading it has no
// conflicts either. The kernel moves bits: elements are words of BYTES bytes.
template <int BYTES, int TILE_ROWS, int TILE_COLUMNS, int THREADS, int VEC, TileOrder ORDER, bool SWIZZLE>
__global__ void __launch_bounds__(THREADS)
    transpose_swizzled(int rows, int columns, const typename WordOf<BYTES>::Type* __restrict__ in,
                       typename WordOf<BYTES>::Type* __restrict__ out) {
  using Element = typename WordOf<BYTES>::Type;
  using Elements = Packed<BYTES, VEC>;
  using Part = typename Elements::Part;
  constexpr int kParts = Elements::kParts;
  constexpr int kDown = TILE_ROWS / VEC;               // squares, and vectors of a row of the transposed tile
  constexpr int kAcross = TILE_COLUMNS / VEC;          // squares
  constexpr int kSquares = kDown * kAcross / THREADS;  // per thread
  constexpr int kVectorsOfBanks = 128 / (BYTES * VEC);
  constexpr int kMask = SWIZZLE ? (kDown < kVectorsOfBanks ? kDown : kVectorsOfBanks) - 1 : 0;
  static_assert((kDown & (kDown - 1)) == 0, "an exclusive or stays within a row of a power of two");
  __shared__ __align__(16) Element tile[TILE_ROWS * TILE_COLUMNS];
  const TileStart start = tile_start<ORDER, TILE_ROWS, TILE_COLUMNS>(rows, columns);

  typename Elements::Row squares[kSquares][VEC];
#pragma unroll
  for (int s = 0; s < kSquares; ++s) {
    const int i = s * THREADS + threadIdx.x;
    const int row = start.row + i / kAcross * VEC;
    const int column = start.column + i % kAcross * VEC;
    if (row < rows && column < columns) {
#pragma unroll
      for (int k = 0; k < VEC; ++k)
        squares[s][k] = load_vector<kParts, false>(
            reinterpret_cast<const Part*>(in + static_cast<long long>(row + k) * columns + column));
    }
  }
#pragma unroll
  for (int s = 0; s < kSquares; ++s) {
    const int i = s * THREADS + threadIdx.x;
    const int across = i % kAcross;
    const int place = (i / kAcross) ^ (across & kMask);
    typename Elements::Row transposed[VEC];
    transpose_square<BYTES, VEC>(squares[s], transposed);
#pragma unroll
    for (int k = 0; k < VEC; ++k)
      store_vector<false>(reinterpret_cast<Part*>(&tile[((across * VEC + k) * kDown + place) * VEC]),
                          transposed[k]);
  }
  __syncthreads();
#pragma unroll
  for (int v = 0; v < kSquares * VEC; ++v) {
    const int i = v * THREADS + threadIdx.x;
    const int column = i / kDown;
    const int row = i % kDown * VEC;
    const int place = (i % kDown) ^ (column / VEC & kMask);
    const auto vector =
        load_vector<kParts, false>(reinterpret_cast<const Part*>(&tile[(column * kDown + place) * VEC]));
    if (start.row + row < rows && start.column + column < columns) {
      store_vector<false>(reinterpret_cast<Part*>(out + static_cast<long long>(start.column + column) * rows +
                                                  start.row + row),
                          vector);
    }
  }
}
