#include "common/convolution.cuh"

// 2D convolution with the input of a block's tile, border included, in shared memory: a value comes from
// global memory once per block. Threads side by side start TILE_X floats apart; with vectors of 4 a row of 8
// threads reads all 32 banks once if TILE_X is 4. With 8 the second four threads fall on the banks of the
// first, unless every 32 floats are followed by 4 unused ones (SKEW). common/convolution.cuh has the register
// blocking.
template <int FILTER_WIDTH, int FILTER_HEIGHT, int BLOCK_X, int BLOCK_Y, int TILE_X, int TILE_Y, int SKEW,
          int PAD, int MIN_BLOCKS>
__global__ void __launch_bounds__(BLOCK_X* BLOCK_Y, MIN_BLOCKS)
    conv2d_tiled(int width, int height, const float* __restrict__ in, const float* __restrict__ filter,
                 float* __restrict__ out) {
  using Weights = Filter<FILTER_WIDTH, FILTER_HEIGHT>;
  constexpr int kThreads = BLOCK_X * BLOCK_Y;
  constexpr int kVec = TILE_X % 4 == 0 ? 4 : TILE_X % 2 == 0 ? 2 : 1;
  constexpr int kWindow = (TILE_X + FILTER_WIDTH - 1 + kVec - 1) / kVec * kVec;
  constexpr int kColumns = (BLOCK_X - 1) * TILE_X + kWindow;
  constexpr int kRows = BLOCK_Y * TILE_Y + FILTER_HEIGHT - 1;
  constexpr int kRow = (kColumns + (kColumns - 1) / 32 * SKEW + PAD + 3) / 4 * 4;
  const auto place = [](int column) { return column + column / 32 * SKEW; };
  extern __shared__ __align__(16) float shared[];
  float* const weights = shared;
  float* const tile = shared + Weights::kRow * FILTER_HEIGHT;

  const int thread = threadIdx.y * BLOCK_X + threadIdx.x;
  const int first_x = blockIdx.x * (BLOCK_X * TILE_X), first_y = blockIdx.y * (BLOCK_Y * TILE_Y);
  const int in_width = width + FILTER_WIDTH - 1, in_height = height + FILTER_HEIGHT - 1;
  Weights::template copy<kThreads>(weights, filter, thread);
#pragma unroll 8
  for (int i = thread; i < kRows * kColumns; i += kThreads) {
    const int y = i / kColumns, x = i % kColumns;
    const bool exists = first_y + y < in_height && first_x + x < in_width;
    tile[y * kRow + place(x)] =
        exists ? in[static_cast<long long>(first_y + y) * in_width + first_x + x] : 0.0f;
  }
  __syncthreads();

  const int own_x = threadIdx.x * TILE_X, own_y = threadIdx.y * TILE_Y;
  float sum[TILE_Y][TILE_X] = {};
  convolve<FILTER_WIDTH, FILTER_HEIGHT, TILE_X, TILE_Y, kWindow>(
      sum, weights, [&](float(&window)[kWindow], int r) {
        const float* row = tile + (own_y + r) * kRow;
#pragma unroll
        for (int i = 0; i < kWindow; i += kVec) {
          float values[kVec];
          load_vector<kVec>(values, row + place(own_x + i));
#pragma unroll
          for (int j = 0; j < kVec; ++j) window[i + j] = values[j];
        }
      });

  const int x = first_x + own_x, y = first_y + own_y;
#pragma unroll
  for (int i = 0; i < TILE_Y; ++i) {
    if (y + i < height) store_row<kVec>(out + static_cast<long long>(y + i) * width, x, width, sum[i]);
  }
}
