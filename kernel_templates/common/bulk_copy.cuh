#pragma once

#include "common/async_copy.cuh"

// Bulk copies of consecutive bytes (sm_90 and newer) from shared memory to the global memory of this GPU, or
// of one whose memory it reaches. Addresses and sizes are multiples of 16 bytes. PTX ISA: "cp.async.bulk".

/// Belongs to the next group of stores that this thread commits.
__device__ __forceinline__ void copy_bytes_out(void* to, unsigned from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
               : "memory");
}
/// Waits until all of this thread's groups of stores but the newest PENDING are written.
template <int PENDING>
__device__ __forceinline__ void wait_until_stores_are_written() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory");
}
