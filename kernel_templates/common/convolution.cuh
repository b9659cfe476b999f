#pragma once

#include "common/quads.cuh"

// Convolution with register blocking: a thread computes TILE_X x TILE_Y neighbouring elements of the output.
// It goes through the rows of its part of the input. Each row is brought to registers once and serves all of
// the thread's rows that it reaches, so that an element is read once for up to TILE_X * TILE_Y multiply-adds.

/// The filter in shared memory; rows are as long as a multiple of 4, for reads of 16 bytes.
template <int FILTER_WIDTH, int FILTER_HEIGHT>
struct Filter {
  static constexpr int kRow = (FILTER_WIDTH + 3) / 4 * 4;

  /// Copies the filter; the caller ends this with a barrier.
  template <int THREADS>
  static __device__ __forceinline__ void copy(float* weights, const float* filter, int thread) {
    for (int i = thread; i < kRow * FILTER_HEIGHT; i += THREADS)
      weights[i] = i % kRow < FILTER_WIDTH ? filter[i / kRow * FILTER_WIDTH + i % kRow] : 0.0f;
  }
};

/// read_row(window, r) gives the TILE_X + FILTER_WIDTH - 1 (or more) elements of row r of the thread's input.
template <int FILTER_WIDTH, int FILTER_HEIGHT, int TILE_X, int TILE_Y, int WINDOW, class ReadRow>
__device__ __forceinline__ void convolve(float (&sum)[TILE_Y][TILE_X], const float* weights,
                                         ReadRow read_row) {
  static_assert(WINDOW >= TILE_X + FILTER_WIDTH - 1, "the window holds a row of the thread's input");
  constexpr int kRow = Filter<FILTER_WIDTH, FILTER_HEIGHT>::kRow;
#pragma unroll 1
  for (int r = 0; r < TILE_Y + FILTER_HEIGHT - 1; ++r) {
    float window[WINDOW];
    read_row(window, r);
#pragma unroll
    for (int y = 0; y < TILE_Y; ++y) {
      if (r < y || r >= y + FILTER_HEIGHT) continue;  // the same for all threads
      float weight[kRow];
      load_fragment<kRow, kRow>(weight, weights + (r - y) * kRow);
#pragma unroll
      for (int j = 0; j < FILTER_WIDTH; ++j) {
#pragma unroll
        for (int x = 0; x < TILE_X; ++x) sum[y][x] += window[x + j] * weight[j];
      }
    }
  }
}

/// Stores a thread's row of the output from column x on, as far as it exists; whole vectors where the row
/// starts on their boundary.
template <int VEC, int TILE_X>
__device__ __forceinline__ void store_row(float* row, int x, int width, const float (&sum)[TILE_X]) {
  if (x + TILE_X <= width && width % VEC == 0 && x % VEC == 0) {
#pragma unroll
    for (int i = 0; i < TILE_X; i += VEC) {
      float values[VEC];
#pragma unroll
      for (int j = 0; j < VEC; ++j) values[j] = sum[i + j];
      store_vector<VEC>(row + x + i, values);
    }
  } else {
#pragma unroll
    for (int i = 0; i < TILE_X; ++i) {
      if (x + i < width) row[x + i] = sum[i];
    }
  }
}
