#pragma once

#include "common/peers.cuh"

// The slices of a matrix that lie on other GPUs are gathered while a product begins with the GPU's own slice.

/// How the slices of other GPUs come to this one.
enum Transfer {
  copy_engine,  // copies beside the kernel, which set a chunk's word to 1
  loads,        // warps of the kernel read them
  nccl          // all are here before the kernel begins
};

/// Words that say which chunks of the gathered matrix are here: of slice s the words s * chunks to
/// (s + 1) * chunks - 1.
struct Arrivals {
  unsigned* words;
  int chunks;      ///< of a slice
  int chunk_rows;  ///< rows of a chunk
  int complete;    ///< a chunk's word, once all of it is here; 0: nobody waits

  /// One thread, before it reads rows `row` to `row + rows` - 1 of another GPU's slice.
  __device__ __forceinline__ void wait(int slice, int row, int rows) const {
    if (complete == 0) return;
    const int last = min((row + rows - 1) / chunk_rows, chunks - 1);
    for (int chunk = row / chunk_rows; chunk <= last; ++chunk)
      wait_for_word(words + slice * chunks + chunk, complete);
  }
};

/// Warps that copy in place of multiplying: they read the other GPUs' slices across NVLink, in the order in
/// which the product needs them. The `workers` warps share every chunk, and each adds 1 to the chunk's word
/// when its part is written. `slices` holds the addresses of the GPUs' slices, each of arrivals.chunks times
/// `chunk_bytes`, a multiple of 16; `gathered` has place for all of them.
__device__ __forceinline__ void copy_slices(char* gathered, const char* const* slices, int rank, int ranks,
                                            long long chunk_bytes, const Arrivals& arrivals, int worker,
                                            int workers) {
  constexpr int kAtOnce = 4;  // reads of a lane that are under way
  const long long vectors = chunk_bytes / 16, stride = static_cast<long long>(workers) * (32 * kAtOnce);
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < (ranks - 1) * arrivals.chunks; ++i) {
    const int slice = slice_of_step(rank, 1 + i / arrivals.chunks, ranks), chunk = i % arrivals.chunks;
    const uint4* const from = reinterpret_cast<const uint4*>(slices[slice] + chunk * chunk_bytes);
    const int word = slice * arrivals.chunks + chunk;
    uint4* const to = reinterpret_cast<uint4*>(gathered + word * chunk_bytes);
    for (long long at = static_cast<long long>(worker) * (32 * kAtOnce) + lane; at < vectors; at += stride) {
      uint4 four[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j)
        if (at + j * 32 < vectors) four[j] = load_sent(from + at + j * 32);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j)
        if (at + j * 32 < vectors) to[at + j * 32] = four[j];
    }
    __syncwarp();
    if (lane == 0) add_release(arrivals.words + word, 1);
  }
}
