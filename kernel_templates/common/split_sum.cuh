#pragma once

#include "common/async_copy.cuh"
#include "common/warp_product.cuh"

// What several thread blocks, or several groups of threads in one, have computed of the same tile of C is
// added up here. A thread's elements are handled as quads, numbered row by row of its thread tile.

/// What a thread finishes: COUNT quads from number `first` on.
template <int COUNT>
struct Quads {
  int first;
  float4 value[COUNT];
};

__device__ __forceinline__ void add_quad(float4& sum, float4 value) {
  sum.x += value.x;
  sum.y += value.y;
  sum.z += value.z;
  sum.w += value.w;
}

template <class T>
struct ThreadTile {
  static constexpr int kQuads = T::TM * T::TN / 4;
  /// Times alpha. Sums that went to memory as they are would have to lie in neighbouring registers, in the
  /// same bank of the register file as what they are made from, and every multiply-add would wait for it.
  static __device__ __forceinline__ float4 quad(const float (&sum)[T::TM][T::TN], int q, float alpha) {
    const float* values = &sum[q / (T::TN / 4)][q % (T::TN / 4) * 4];
    return make_float4(alpha * values[0], alpha * values[1], alpha * values[2], alpha * values[3]);
  }
  static __device__ __forceinline__ TileOrigin place(int q) {
    return {T::row(q / (T::TN / 4)), T::column(q % (T::TN / 4) * 4)};
  }
};

/// The address of the same place in the shared memory of another block of the cluster.
__device__ __forceinline__ unsigned address_in_cluster(unsigned address, int rank) {
  unsigned result;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

__device__ __forceinline__ float4 load_from_cluster(unsigned address) {
  float4 value;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

/// Of all threads of all blocks of the cluster.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

/// Adds up alpha times the sums of GROUPS groups of threads in each of BLOCKS blocks of a cluster, always in
/// the same order, through shared memory (GROUPS tiles of C large). Every thread gets its share of the quads.
template <class T, int GROUPS, int BLOCKS>
__device__ __forceinline__ Quads<ThreadTile<T>::kQuads / (GROUPS * BLOCKS)> add_groups(
    float* shared, const float (&sum)[T::TM][T::TN], float alpha, int rank) {
  constexpr int kQuads = ThreadTile<T>::kQuads, kShare = kQuads / (GROUPS * BLOCKS);
  static_assert(kShare * GROUPS * BLOCKS == kQuads, "a whole number of quads for each");
  Quads<kShare> out;
  if constexpr (GROUPS * BLOCKS == 1) {
    out.first = 0;
#pragma unroll
    for (int q = 0; q < kQuads; ++q) out.value[q] = ThreadTile<T>::quad(sum, q, alpha);
  } else {
    const int group = threadIdx.x / T::kThreads, thread = threadIdx.x % T::kThreads;
    __syncthreads();  // the tiles that lay here have been read
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      store_quad(shared + ((group * kQuads + q) * T::kThreads + thread) * 4,
                 ThreadTile<T>::quad(sum, q, alpha));
    }
    if constexpr (BLOCKS > 1) {
      cluster_barrier();
    } else {
      __syncthreads();
    }
    out.first = (rank * GROUPS + group) * kShare;
#pragma unroll
    for (int i = 0; i < kShare; ++i) {
      out.value[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (int from = 0; from < GROUPS * BLOCKS; ++from) {
        const float* place = shared + ((from % GROUPS * kQuads + out.first + i) * T::kThreads + thread) * 4;
        if constexpr (BLOCKS > 1) {
          add_quad(out.value[i], load_from_cluster(address_in_cluster(shared_address(place), from / GROUPS)));
        } else {
          add_quad(out.value[i], load_quad(place));
        }
      }
    }
    if constexpr (BLOCKS > 1) cluster_barrier();  // nobody leaves while others read from it
  }
  return out;
}

/// Adds to four neighbouring elements of C, as far as they exist; others do so too.
template <int VEC>
__device__ __forceinline__ void add_results(float* C, int M, int N, int pitch, int row, int column,
                                            float4 value) {
  if (row >= M || column >= N) return;
  float* c = C + static_cast<long long>(row) * pitch + column;
  const float results[4] = {value.x, value.y, value.z, value.w};
#if __CUDA_ARCH__ >= 900
  if constexpr (VEC == 4) {
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(c), "f"(results[0]), "f"(results[1]),
                 "f"(results[2]), "f"(results[3])
                 : "memory");
  } else
#endif
  {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (column + j < N) atomicAdd(c + j, results[j]);
    }
  }
}

__device__ __forceinline__ unsigned load_acquire(const unsigned* address) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ void store_release(unsigned* address, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
