#pragma once

#include "common/vectors.cuh"

/// Copies a matrix of `lines` lines of `length` elements to where its lines are `pitch` elements apart, a
/// multiple of 16 bytes. A block copies LINES lines of THREADS vectors of VEC elements; `from` lines start on
/// boundaries of a vector. What lies behind a line is neither read nor written.
template <int THREADS, int LINES, int VEC, class T>
__device__ __forceinline__ void pack_lines(const T* __restrict__ from, int lines, int length, int ld,
                                           T* __restrict__ to, int pitch, int block) {
  const int across = (length - 1) / (THREADS * VEC) + 1;
  const int line = block / across * LINES, at = (block % across * THREADS + threadIdx.x) * VEC;
  from += static_cast<long long>(line) * ld + at;
  to += static_cast<long long>(line) * pitch + at;
  if (at + VEC <= length) {
    Vector<T, VEC> moved[LINES];
#pragma unroll
    for (int i = 0; i < LINES; ++i)
      if (line + i < lines) moved[i] = load_vector<VEC, true>(from + static_cast<long long>(i) * ld);
#pragma unroll
    for (int i = 0; i < LINES; ++i)
      if (line + i < lines) store_vector<false>(to + static_cast<long long>(i) * pitch, moved[i]);
  } else {
    for (int i = 0; i < LINES && line + i < lines; ++i)
      for (int j = 0; at + j < length; ++j)
        to[static_cast<long long>(i) * pitch + j] = from[static_cast<long long>(i) * ld + j];
  }
}
