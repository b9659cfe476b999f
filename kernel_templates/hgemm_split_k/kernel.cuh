#include "common/box_pipeline.cuh"
#include "common/persistent.cuh"
#include "common/stream_k.cuh"

// hgemm_persistent for matrices C with too few tiles to keep every multiprocessor busy: K is divided too. The
// parts of a tile meet in device memory, where each consumer leaves its sums in FP32, and are added in the
// order of K, so that every launch gives the same bits.
//
// Neighbouring clusters take the same part of K of different tiles (Split), and read the same rows of B, or
// of A, at the same time. With one part per tile what remains is a persistent kernel whose tiles can be as
// narrow as decoding needs: 8 to 128 rows of A along wgmma's free side (n_side), or pairs of 64 rows that
// share the columns of B by multicast (CLUSTER_M).

// How the tiles of C and the length of K are dealt out to clusters.
enum Schedule {
  split_k,   // Every tile has SPLIT_K parts.
  fill_gpu,  // Every tile has as many parts as fit on the GPU at once: a kernel for many sizes.
  stream_k   // A cluster per multiprocessor, and equal lengths of K for all (Stream).
};
// Who adds up the parts of a tile.
enum Reduction {
  by_last,  // The consumer that finishes its part last.
  by_all    // All wait for each other, and each finishes a share of the tile. Where not all run at once: the
            // last.
};

/// The parts that a cluster of CLUSTER blocks takes, where every tile has the same number of them.
template <int CLUSTER>
struct Split {
  int tiles, depth;
  int parts;  ///< of a tile
  int now;    ///< part, counted through all tiles

  __device__ __forceinline__ Split(int tiles, int depth, int parts)
      : tiles(tiles), depth(depth), parts(parts), now(blockIdx.x / CLUSTER) {}
  __device__ __forceinline__ bool next(Part& part) {
    if (now >= tiles * parts) return false;
    const int number = now / tiles, first = depth * number / parts;
    part = {now % tiles, first, depth * (number + 1) / parts - first, number, parts};
    now += gridDim.x / CLUSTER;
    return true;
  }
  __device__ __forceinline__ int slot(const Part& part, int number) const {
    return part.tile * parts + number;
  }
  /// Whether all parts have a cluster of their own. They run at the same time then.
  __device__ __forceinline__ bool at_once() const {
    return tiles * parts <= static_cast<int>(gridDim.x / CLUSTER);
  }
};

// A ticket counts the parts of a tile that are finished; each consumer of a block has its own. The count wraps
// around to zero by itself, as the next launch expects it. Release and acquire order what the whole warpgroup
// has written, because it has met at a barrier before; they wait for less than two fences do.

/// A thread of a consumer: how many parts were counted before its own. It sees what those have written.
__device__ __forceinline__ unsigned take_ticket(unsigned* ticket, unsigned parts) {
  unsigned number;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(number)
               : "l"(ticket), "r"(parts - 1)
               : "memory");
  return number;
}

/// Waits until all parts have been counted. Each counts twice: when it has written, and when it has seen that
/// all have. The ticket is therefore not zero again before all have seen that.
__device__ __forceinline__ void wait_for_all(unsigned* ticket, unsigned parts) {
  const unsigned last = 2 * parts - 1;
  asm volatile("red.release.gpu.global.inc.u32 [%0], %1;" ::"l"(ticket), "r"(last) : "memory");
  unsigned counted = 0;
  while (counted < parts)
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(counted) : "l"(ticket) : "memory");
  asm volatile("red.relaxed.gpu.global.inc.u32 [%0], %1;" ::"l"(ticket), "r"(last) : "memory");
}

__device__ __forceinline__ void add_quad(float* sums, float4 more) {
  sums[0] += more.x;
  sums[1] += more.y;
  sums[2] += more.z;
  sums[3] += more.w;
}

template <class T, class Out, Layout LAYOUT, Epilogue EPILOGUE, int BM, int BN, int STAGES, int CLUSTER_M,
          int CLUSTER_N, int CONSUMERS, Side SIDE, Schedule SCHEDULE, int SPLIT_K, Reduction REDUCTION,
          bool PAIRS, Keep KEEP_A, Keep KEEP_B, int PRODUCER_REGISTERS,
          int CONSUMER_REGISTERS>
__global__ void __cluster_dims__(CLUSTER_M* CLUSTER_N, 1, 1) __launch_bounds__((CONSUMERS + 1) * 128, 1)
    hgemm_split_k(int M, int N, int K, float alpha, float beta, Out* C, int ldc,
                  const Out* __restrict__ bias_vector, float4* partials, unsigned* tickets,
                  const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map) {
  using Pipeline =
      BoxPipeline<T, LAYOUT, BM, BN, STAGES, CLUSTER_M, CLUSTER_N, CONSUMERS, SIDE, by_rows, KEEP_A, KEEP_B>;
  constexpr int kCluster = Pipeline::kCluster, kAcross = Pipeline::kN / 8;
  constexpr int kQuads = Pipeline::kRows / 64 * kAcross;  // of a thread: four neighbours in its sums
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ unsigned tickets_taken[CONSUMERS];
  if (threadIdx.x == 0) {
    prefetch_map(&a_map);
    prefetch_map(&b_map);
  }
  Pipeline pipeline(shared_address(shared));

  const int tiles_m = (M - 1) / (BM * CLUSTER_M) + 1, tiles_n = (N - 1) / (BN * CLUSTER_N) + 1;
  const int tiles = tiles_m * tiles_n, depth = (K - 1) / Pipeline::kDepth + 1;
  const auto tile_at = [&](int number) {
    return pipeline.tile_at(place_of_tile<along_m, 1>(number, tiles_m, tiles_n));
  };
  auto parts = [&] {
    if constexpr (SCHEDULE == split_k) return Split<kCluster>(tiles, depth, SPLIT_K);
    if constexpr (SCHEDULE == fill_gpu)
      return Split<kCluster>(tiles, depth, max(1, min(depth, static_cast<int>(gridDim.x) / kCluster / tiles)));
    if constexpr (SCHEDULE == stream_k) return Stream<kCluster>(tiles, depth);
  }();
  Part part;
  const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;

  if (warpgroup == CONSUMERS) {
    lower_registers<PRODUCER_REGISTERS>();
    if (thread == 0) {
      while (parts.next(part)) pipeline.fill(&a_map, &b_map, tile_at(part.tile), part.first, part.tiles);
    }
  } else {
    raise_registers<CONSUMER_REGISTERS>();
    const Finish<EPILOGUE, Out, float> finish{alpha, beta, bias_vector, C, M, N, ldc};
    const int rank = blockIdx.x % kCluster;
    typename Pipeline::Product product;
    while (parts.next(part)) {
      pipeline.multiply(product, warpgroup, part.tiles);
      const TileOrigin own = Pipeline::own_part(tile_at(part.tile), warpgroup);
      const auto sums_of = [&](int quad) { return &product.sum[quad / kAcross][quad % kAcross * 4]; };
      const auto store_quad = [&](int quad, const float* sums) {
        const int y = quad / kAcross * 64 + thread / 32 * 16 + thread % 32 / 4;  // along wgmma's rows
        const int x = quad % kAcross * 8 + thread % 4 * 2;
        if constexpr (Pipeline::kTransposed) {
          finish.store_element(own.row + x, own.column + y, sums[0]);
          finish.store_element(own.row + x + 1, own.column + y, sums[1]);
          finish.store_element(own.row + x, own.column + y + 8, sums[2]);
          finish.store_element(own.row + x + 1, own.column + y + 8, sums[3]);
        } else {
          finish.template store<PAIRS>(own.row + y, own.column + x, sums[0], sums[1]);
          finish.template store<PAIRS>(own.row + y + 8, own.column + x, sums[2], sums[3]);
        }
      };
      // The thread's quads of part `number` in device memory.
      const auto left_by = [&](int number) {
        const long long slot = parts.slot(part, number) * kCluster + rank;
        return partials + (slot * CONSUMERS + warpgroup) * (kQuads * 128) + thread;
      };
      if (part.parts > 1) {
        float4* const own_quads = left_by(part.number);
#pragma unroll
        for (int quad = 0; quad < kQuads; ++quad) {
          const float* sums = sums_of(quad);
          __stcg(own_quads + quad * 128, make_float4(sums[0], sums[1], sums[2], sums[3]));
        }
        unsigned* const ticket = tickets + (part.tile * kCluster + rank) * CONSUMERS + warpgroup;
        bool together = false;
        if constexpr (REDUCTION == by_all) together = parts.at_once();
        sync_threads(1 + warpgroup, 128);
        if (thread == 0) {
          if (together)
            wait_for_all(ticket, part.parts);
          else
            tickets_taken[warpgroup] = take_ticket(ticket, part.parts);
        }
        sync_threads(1 + warpgroup, 128);
        if (together) {
          // Sums are asked for together before the first is needed: those of all parts where their number is
          // a constant.
          constexpr int kTogether = SCHEDULE == split_k ? SPLIT_K : 4;
          const int count = SCHEDULE == split_k ? SPLIT_K : part.parts;
#pragma unroll 2
          for (int quad = part.number; quad < kQuads; quad += count) {
            float sums[4] = {};
            for (int first = 0; first < count; first += kTogether) {
              float4 left[kTogether];
#pragma unroll
              for (int i = 0; i < kTogether; ++i)
                if (first + i < count) left[i] = __ldcg(left_by(first + i) + quad * 128);
#pragma unroll
              for (int i = 0; i < kTogether; ++i)
                if (first + i < count) add_quad(sums, left[i]);
            }
            store_quad(quad, sums);
          }
          continue;
        }
        if (tickets_taken[warpgroup] != part.parts - 1u) continue;
#pragma unroll
        for (int quad = 0; quad < kQuads; ++quad)
          for (int i = 0; i < 4; ++i) sums_of(quad)[i] = 0.0f;
        for (int number = 0; number < part.parts; ++number) {
          const float4* const quads = left_by(number);
#pragma unroll
          for (int quad = 0; quad < kQuads; ++quad) add_quad(sums_of(quad), __ldcg(quads + quad * 128));
        }
      }
#pragma unroll
      for (int quad = 0; quad < kQuads; ++quad) store_quad(quad, sums_of(quad));
    }
  }
  pipeline.leave();
}
