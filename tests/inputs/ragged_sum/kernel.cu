// Sums of rows of different lengths, which are read through indices: one warp per row.
extern "C" __global__ void ragged_sum(int rows, const int* offsets, const int* order, const float* in, float* sums,
                                      int* lengths) {
  const int row = blockIdx.x * WARPS + threadIdx.x / 32;
  if (row >= rows) return;
  const int begin = offsets[row];
  const int end = offsets[row + 1];
  float sum = 0;
  for (int i = begin + threadIdx.x % 32; i < end; i += 32) sum += in[order[i]];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  if (threadIdx.x % 32 != 0) return;
  sums[row] = sum;
  lengths[row] = end - begin;
}
