#pragma once

#include "common/async_copy.cuh"

// Thread blocks of a cluster (sm_90 and newer) run at the same time on neighbouring multiprocessors, and reach
// each other's shared memory. PTX ISA: "Thread Block Clusters".

__device__ __forceinline__ int rank_in_cluster() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// Waits for all threads of the cluster, whose writes are visible afterwards.
__device__ __forceinline__ void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

/// Arrives at the barrier that another block of the cluster has at the same place.
__device__ __forceinline__ void arrive_in_block(unsigned barrier, int rank) {
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

/// What the L2 cache does with what is read.
enum Keep : unsigned long long {
  normal = 0x1000000000000000ull,
  first_to_go = 0x12f0000000000000ull,
  last_to_go = 0x14f0000000000000ull
};

/// One thread asks for a tensor map: the first copy need not wait for it then.
__device__ __forceinline__ void prefetch_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// As copy_box, but to the same place in all blocks of the mask, whose barriers there get the bytes.
template <Keep KEEP, bool MULTICAST>
__device__ __forceinline__ void copy_box_to(unsigned to, const TensorMap* map, int x, int y, unsigned barrier,
                                            unsigned short blocks) {
  const auto policy = static_cast<unsigned long long>(KEEP);
  if constexpr (MULTICAST) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::"
        "cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(blocks), "l"(policy)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
        : "memory");
  }
}

/// Copies a box from shared memory to the tensor; what lies beyond it is not written.
__device__ __forceinline__ void store_box(const TensorMap* map, int x, int y, unsigned from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
               "r"(x), "r"(y), "r"(from)
               : "memory");
}
__device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until all of this thread's groups of stores but the newest PENDING have read shared memory.
template <int PENDING>
__device__ __forceinline__ void wait_until_stores_have_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

/// Waits for so many threads at one of the block's sixteen barriers.
__device__ __forceinline__ void sync_threads(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
/// Arrives there without waiting.
__device__ __forceinline__ void arrive_threads(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
