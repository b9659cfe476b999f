#include "common/pipeline.cuh"
#include "common/raster.cuh"
#include "common/split_sum.cuh"
#include "common/stream_k.cuh"

// How the tiles of C and the length of K are dealt out to thread blocks.
enum Schedule {
  // Every tile goes to as many blocks as there are splits, each of which takes its part of K.
  split_k,
  // MIN_BLOCKS blocks per multiprocessor take equal shares of all tiles (Stream).
  stream_k
};

// How the parts of a tile are added up.
enum Reduction {
  // The first block to finish stores, the others wait for that and add atomically: the order, and with it the
  // last bits of the result, differ from launch to launch.
  atomic,
  // Every block leaves its part in device memory; the last one to finish adds them up in order.
  workspace,
  // The blocks of a tile are a cluster and read each other's shared memory, in order.
  cluster
};

/// Thread 0 takes a number; all threads get it.
__device__ __forceinline__ unsigned take_ticket(unsigned* ticket) {
  __shared__ unsigned number;
  __syncthreads();
  if (threadIdx.x == 0) number = atomicAdd(ticket, 1u);
  __syncthreads();
  return number;
}

/// Leaves a thread's quads in its block's slot of device memory. In the block of a tile that is the last to
/// do so, true: it has the sum of all `parts` then, in the order of their numbers.
template <int THREADS, int SLOT, int COUNT, class SlotOf>
__device__ __forceinline__ bool sum_in_workspace(Quads<COUNT>& quads, float* __restrict__ partials,
                                                 unsigned* ticket, const Part& part, const SlotOf& slot_of) {
  const auto slot = [&](int number) {
    return reinterpret_cast<float4*>(partials + static_cast<long long>(slot_of(number)) * SLOT) + threadIdx.x;
  };
  float4* const own = slot(part.number);
#pragma unroll
  for (int i = 0; i < COUNT; ++i) __stcg(own + i * THREADS, quads.value[i]);
  __threadfence();
  if (take_ticket(ticket) != static_cast<unsigned>(part.parts) - 1) return false;
  __threadfence();
#pragma unroll
  for (int i = 0; i < COUNT; ++i) quads.value[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int number = 0; number < part.parts; ++number) {
    const float4* const other = slot(number);
#pragma unroll
    for (int i = 0; i < COUNT; ++i) add_quad(quads.value[i], __ldcg(other + i * THREADS));
  }
  if (threadIdx.x == 0) *ticket = 0;
  return true;
}

/// False in the block of a tile that is to store its part; in the others true, when that part is stored. The
/// last of them leaves both words of the ticket zero.
__device__ __forceinline__ bool wait_for_first_part(unsigned* ticket, int parts) {
  if (take_ticket(ticket) == 0) return false;
  if (threadIdx.x == 0) {
    while (load_acquire(ticket + 1) == 0) {
    }
    if (atomicAdd(ticket + 1, 1u) == static_cast<unsigned>(parts) - 1) ticket[0] = ticket[1] = 0;
  }
  __syncthreads();
  return true;
}

/// Says that the part is stored to which the others are added.
__device__ __forceinline__ void announce_first_part(unsigned* ticket) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) store_release(ticket + 1, 1);
}

template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int K_GROUPS, int STAGES, Loader LOADER,
          int PAD_A, LaneMap LANE_MAP, int VEC, Edges EDGES, int FRAGMENT_BUFFERS,
          FragmentOrder FRAGMENT_ORDER, MultiplyOrder ORDER, int COPY_STEP, Schedule SCHEDULE,
          Reduction REDUCTION, int CLUSTER, int GROUP, int MIN_BLOCKS,
          int THREADS = (BM / WM) * (BN / WN) * 32 * K_GROUPS>
__global__ void
#if __CUDA_ARCH__ >= 900
__cluster_dims__(CLUSTER, 1, 1)
#endif
    __launch_bounds__(THREADS, MIN_BLOCKS)
        sgemm_split_k(int M, int N, int K, float alpha, const float* __restrict__ A, int lda,
                      const float* __restrict__ B, int ldb, float beta, float* C, int ldc, int splits,
                      float* __restrict__ partials, unsigned* tickets) {
  using T = PipelineTiling<LOADER, BM, BN, BK, WM, WN, TM, TN, PAD_A, LANE_MAP>;
  extern __shared__ __align__(1024) float shared[];
  Pipeline<T, LOADER, VEC, EDGES, STAGES, FRAGMENT_BUFFERS, FRAGMENT_ORDER, ORDER, COPY_STEP, K_GROUPS>
      pipeline(shared);
  const int tiles = ((M - 1) / BM + 1) * ((N - 1) / BN + 1), depth = (K - 1) / BK + 1;
  const TileOrigin thread = T::thread_origin(threadIdx.x % T::kThreads);

  const auto finish = [&](const Part& part, const auto& slot_of) {
    const TileOrigin tile = grouped_tile_origin<BM, BN, along_n, GROUP>(M, N, part.tile);
    float sum[TM][TN] = {};
    if (part.tiles > 0) {
      pipeline.multiply({M, N, K, A, lda, B, ldb, nullptr, nullptr}, tile, part.first, part.tiles, sum);
    }
    auto quads = add_groups<T, K_GROUPS, CLUSTER>(shared, sum, alpha, CLUSTER > 1 ? part.number : 0);
    constexpr int kCount = sizeof(quads.value) / sizeof(float4);

    const bool meets = CLUSTER == 1 && part.parts > 1;
    unsigned* const ticket = tickets + 2 * part.tile;
    bool add = false;
    if (REDUCTION == workspace) {
      if (meets && !sum_in_workspace<THREADS, BM * BN>(quads, partials, ticket, part, slot_of)) return;
    } else {
      add = meets && wait_for_first_part(ticket, part.parts);
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const TileOrigin place = ThreadTile<T>::place(quads.first + i);
      const int row = tile.row + thread.row + place.row, column = tile.column + thread.column + place.column;
      if (add) {
        add_results<VEC>(C, M, N, ldc, row, column, quads.value[i]);
      } else {
        store_results<VEC>(C, M, N, ldc, row, column, 1.0f, &quads.value[i].x, beta);
      }
    }
    if (REDUCTION == atomic && meets && !add) announce_first_part(ticket);
  };

  if constexpr (SCHEDULE == split_k) {
    const int tile = CLUSTER > 1 ? blockIdx.x / CLUSTER : blockIdx.x % tiles;
    const int number = CLUSTER > 1 ? blockIdx.x % CLUSTER : blockIdx.x / tiles;
    const int parts = CLUSTER > 1 ? CLUSTER : splits;
    const int first = depth * number / parts;
    finish({tile, first, depth * (number + 1) / parts - first, number, parts},
           [&](int part) { return tile * parts + part; });
  } else {
    Stream<1> stream(tiles, depth);
    Part part;
    while (stream.next(part)) {
      finish(part, [&](int number) { return stream.slot(part, number); });
      __syncthreads();  // shared memory may be filled anew
    }
  }
}
