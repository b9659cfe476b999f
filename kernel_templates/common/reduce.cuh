#pragma once

template <class V>
__device__ __forceinline__ V shuffle_xor(V value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

/// Combines the values of each group of LANES neighbouring lanes, a power of two; every lane of the group
/// gets the result. All lanes of the warp must call it. A structure as V needs its own shuffle_xor.
template <int LANES, class V, class Combine>
__device__ __forceinline__ V reduce_lanes(V value, Combine combine) {
#pragma unroll
  for (int mask = LANES / 2; mask > 0; mask /= 2) value = combine(value, shuffle_xor(value, mask));
  return value;
}

/// Combines the values of all threads of the block, a power of two of at least a warp; every thread gets the
/// result. There must be a barrier between two calls.
template <int THREADS, class V, class Combine>
__device__ __forceinline__ V reduce_block(V value, Combine combine) {
  constexpr int kWarps = THREADS / 32;
  static_assert(THREADS % 32 == 0 && (kWarps & (kWarps - 1)) == 0 && kWarps <= 32,
                "whole warps, a power of two");
  __shared__ V of_warp[kWarps];
  value = reduce_lanes<32>(value, combine);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  return reduce_lanes<kWarps>(of_warp[threadIdx.x % kWarps], combine);
}
