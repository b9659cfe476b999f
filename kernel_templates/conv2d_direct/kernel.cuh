#include "common/convolution.cuh"

// 2D convolution that reads the input through the L1 cache: neighbouring threads ask for overlapping rows,
// and only the filter lies in shared memory. Where a thread's outputs would reach beyond the image, it
// computes those at the edge instead, which other threads also do: all reads then exist, and none needs a
// predicate. common/convolution.cuh has the register blocking.
template <int FILTER_WIDTH, int FILTER_HEIGHT, int BLOCK_X, int BLOCK_Y, int TILE_X, int TILE_Y,
          int MIN_BLOCKS>
__global__ void __launch_bounds__(BLOCK_X* BLOCK_Y, MIN_BLOCKS)
    conv2d_direct(int width, int height, const float* __restrict__ in, const float* __restrict__ filter,
                  float* __restrict__ out) {
  using Weights = Filter<FILTER_WIDTH, FILTER_HEIGHT>;
  constexpr int kWindow = TILE_X + FILTER_WIDTH - 1;
  constexpr int kVec = TILE_X % 4 == 0 ? 4 : TILE_X % 2 == 0 ? 2 : 1;
  __shared__ __align__(16) float weights[Weights::kRow * FILTER_HEIGHT];
  Weights::template copy<BLOCK_X * BLOCK_Y>(weights, filter, threadIdx.y * BLOCK_X + threadIdx.x);
  __syncthreads();

  const int x = min(static_cast<int>(blockIdx.x * BLOCK_X + threadIdx.x) * TILE_X, width - TILE_X);
  const int y = min(static_cast<int>(blockIdx.y * BLOCK_Y + threadIdx.y) * TILE_Y, height - TILE_Y);
  const int in_width = width + FILTER_WIDTH - 1;
  const float* row = in + static_cast<long long>(y) * in_width + x;
  float sum[TILE_Y][TILE_X] = {};
  convolve<FILTER_WIDTH, FILTER_HEIGHT, TILE_X, TILE_Y, kWindow>(sum, weights,
                                                                 [&](float(&window)[kWindow], int) {
#pragma unroll
                                                                   for (int i = 0; i < kWindow; ++i)
                                                                     window[i] = __ldg(row + i);
                                                                   row += in_width;
                                                                 });

#pragma unroll
  for (int i = 0; i < TILE_Y; ++i) {
    store_row<kVec>(out + static_cast<long long>(y + i) * width, x, width, sum[i]);
  }
}
