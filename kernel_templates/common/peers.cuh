#pragma once

#include "common/cluster.cuh"

// Several GPUs that reach each other's memory. A word in global memory says that data has arrived: it is zero
// before a launch and after it, so that each launch finds what the first one found. PTX ISA: "Memory
// Consistency Model".

/// Of a matrix in `slices` slices, one for each GPU: the slice that GPU `rank` takes in that step.
__device__ __forceinline__ int slice_of_step(int rank, int step, int slices) {
  const int slice = rank + step;
  return slice < slices ? slice : slice - slices;
}

/// What other GPUs and copy engines wrote before they set the word can be read after this.
__device__ __forceinline__ unsigned load_acquire_system(const unsigned* word) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
/// What this thread wrote before, and what it knows to be written, can be read by whoever sees the word.
__device__ __forceinline__ void store_release_system(unsigned* word, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ __forceinline__ void add_release(unsigned* word, unsigned value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

/// Waits until the word is at least `value`. It must be set by work that needs nothing from this block.
__device__ __forceinline__ void wait_for_word(const unsigned* word, unsigned value) {
  while (load_acquire_system(word) < value) __nanosleep(64);
}

/// Reads what another GPU has written here, past the L1 cache.
__device__ __forceinline__ uint4 load_sent(const uint4* address) {
  uint4 value;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(address)
               : "memory");
  return value;
}

/// Between ordinary accesses to global memory and bulk copies of the same data, in either order.
__device__ __forceinline__ void order_with_bulk_copies() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

/// All threads of a block, at its end: the last block of the grid to come here sets the words back to zero,
/// and the count of the blocks that have come. Some warps may be here while others are still at
/// __syncthreads's barrier: this is another one.
__device__ __forceinline__ void clear_by_last_block(unsigned* words, int count, unsigned* left) {
  sync_threads(15, blockDim.x);
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(left, 1) != gridDim.x - 1) return;
  for (int i = 0; i < count; ++i) words[i] = 0;
  *left = 0;
}
