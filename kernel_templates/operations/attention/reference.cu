constexpr int kQueries = 8;            // of a block, one for each warp
constexpr int kKeys = 32;              // of a tile, one for each lane
constexpr int kSlice = 64;             // elements of each key in shared memory at a time
constexpr int kLargestHeadSize = 256;  // what the registers of a warp hold

__device__ double over_warp(double value, bool sum) {
  for (int mask = 16; mask > 0; mask /= 2) {
    const double other = __shfl_xor_sync(0xffffffffu, value, mask);
    value = sum ? value + other : fmax(value, other);
  }
  return value;
}

// A warp per query. The softmax is online: what was summed up is rescaled whenever the maximum grows.
extern "C" __global__ void attention_reference(int tokens, int head_size, int is_causal, double scale,
                                               const double* Q, const double* K, const double* V, double* O) {
  __shared__ double queries[kQueries][kSlice];
  __shared__ double keys[kKeys][kSlice + 1];
  const int blocks_per_head = (tokens - 1) / kQueries + 1;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first = blockIdx.x % blocks_per_head * kQueries, query = first + warp;
  const long long head = static_cast<long long>(blockIdx.x / blocks_per_head) * tokens * head_size;
  Q += head;
  K += head;
  V += head;
  O += head;

  double maximum = -INFINITY, sum = 0, output[kLargestHeadSize / 32] = {};
  const int end = is_causal ? min(tokens, first + kQueries) : tokens;
  for (int key0 = 0; key0 < end; key0 += kKeys) {
    double score = 0;
    for (int column0 = 0; column0 < head_size; column0 += kSlice) {
      __syncthreads();  // the slice before has been read
      for (int i = threadIdx.x; i < (kQueries + kKeys) * kSlice; i += blockDim.x) {
        const int row = i / kSlice, column = i % kSlice;
        const int token = row < kQueries ? first + row : key0 + row - kQueries;
        const double* matrix = row < kQueries ? Q : K;
        const bool exists = token < tokens && column0 + column < head_size;
        const double value =
            exists ? matrix[static_cast<long long>(token) * head_size + column0 + column] : 0;
        if (row < kQueries)
          queries[row][column] = value;
        else
          keys[row - kQueries][column] = value;
      }
      __syncthreads();
      for (int column = 0; column < kSlice; ++column) score += queries[warp][column] * keys[lane][column];
    }
    const int key = key0 + lane;
    score = key < tokens && (!is_causal || key <= query) ? score * scale : -INFINITY;
    const double before = maximum;
    maximum = fmax(maximum, over_warp(score, false));  // finite: every query sees key 0
    const double weight = exp(score - maximum), rescale = exp(before - maximum);
    sum = sum * rescale + over_warp(weight, true);
    for (double& value : output) value *= rescale;
    for (int k = 0; k < kKeys && key0 + k < tokens; ++k) {
      const double w = __shfl_sync(0xffffffffu, weight, k);
      const double* value = V + static_cast<long long>(key0 + k) * head_size;
#pragma unroll
      for (int i = 0; i < kLargestHeadSize / 32; ++i) {
        if (lane + i * 32 < head_size) output[i] += w * value[lane + i * 32];
      }
    }
  }
  if (query >= tokens) return;
#pragma unroll
  for (int i = 0; i < kLargestHeadSize / 32; ++i) {
    const int column = lane + i * 32;
    if (column < head_size) O[static_cast<long long>(query) * head_size + column] = output[i] / sum;
  }
}
