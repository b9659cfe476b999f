#pragma once

#include "common/tile_copy.cuh"
#include "common/warp_product.cuh"

// The product of a block tile as a pipeline: STAGES tiles of A and B are in shared memory or on their way to
// it, while the oldest is multiplied.

// How tiles come to shared memory, and how A lies there.
enum Loader {
  ldg,         // both through registers; A transposed
  ldg_a,       // A through registers, transposed; B by asynchronous copies
  cp_async4,   // asynchronous copies: A by four bytes, transposed; B by VEC floats
  cp_async16,  // asynchronous copies of 16 bytes; A as rows with swizzled quads
  tma          // bulk copies of whole tiles; A as rows with swizzled quads
};

template <Loader LOADER, class T, int THREADS, int VEC, bool CLAMP>
struct CopyTypes;
template <class T, int THREADS, int VEC, bool CLAMP>
struct CopyTypes<ldg, T, THREADS, VEC, CLAMP> {
  using A = StagedCopy<Operand::a, THREADS, T::BM, T::BK, T::kARow, VEC>;
  using B = StagedCopy<Operand::b, THREADS, T::BN, T::BK, T::BN, VEC>;
};
template <class T, int THREADS, int VEC, bool CLAMP>
struct CopyTypes<ldg_a, T, THREADS, VEC, CLAMP> {
  using A = StagedCopy<Operand::a, THREADS, T::BM, T::BK, T::kARow, VEC>;
  using B = RowCopy<THREADS, T::BN, T::BK, VEC, CLAMP>;
};
template <class T, int THREADS, int VEC, bool CLAMP>
struct CopyTypes<cp_async4, T, THREADS, VEC, CLAMP> {
  using A = TransposingCopy<THREADS, T::BM, T::BK, T::kARow, CLAMP>;
  using B = RowCopy<THREADS, T::BN, T::BK, VEC, CLAMP>;
};
template <class T, int THREADS, int VEC, bool CLAMP>
struct CopyTypes<cp_async16, T, THREADS, VEC, CLAMP> {
  using A = QuadCopy<THREADS, T::BM, T::BK, CLAMP>;
  using B = RowCopy<THREADS, T::BN, T::BK, 4, CLAMP>;
};

// What is done about tiles that reach beyond the matrices.
enum Edges {
  none,      // nothing: M, N and K are multiples of the tile
  clamp,     // every copy has an address of its own, which stays within the matrix
  two_loops  // tiles within the matrices get a loop of their own, whose addresses are a step apart
};

// Which fragment a thread reads first from shared memory.
enum FragmentOrder { a_first, b_first };

/// Which loaders leave A as rows with swizzled quads.
constexpr bool keeps_rows(Loader loader) { return loader == cp_async16 || loader == tma; }

/// The tiles of a pipeline: a thread's part of the fragments lies in patches of four rows where A is
/// transposed, so that one load brings four of them; where A keeps its rows, one load brings four values of
/// k, and the rows of neighbouring lanes lie next to each other.
template <Loader LOADER, int BM, int BN, int BK, int WM, int WN, int TM, int TN, int PAD_A, LaneMap LANE_MAP>
using PipelineTiling = WarpTiling<BM, BN, BK, WM, WN, TM, TN, keeps_rows(LOADER) ? TM : TM / 4, TN / 4,
                                  keeps_rows(LOADER) ? 0 : PAD_A, LANE_MAP>;

/// A thread's operands of one step of k, or of the next one too: TM values of A and TN of B. A is transposed:
/// four rows per load.
template <Loader LOADER, class T, int BUFFERS, FragmentOrder FRAGMENT_ORDER, bool ROWS = keeps_rows(LOADER)>
struct Fragments {
  float a[BUFFERS][T::TM], b[BUFFERS][T::TN];

  /// From a stage whose tiles of A and B start at those addresses; `thread` is the thread's place in them.
  __device__ __forceinline__ void load(const float* a_tile, const float* b_tile, TileOrigin thread, int step,
                                       int k) {
    if (FRAGMENT_ORDER == a_first) load_a(a_tile + thread.row + k * T::kARow, step);
    load_fragment<T::kPatchN, T::kSubtileN>(b[step % BUFFERS], b_tile + thread.column + k * T::BN);
    if (FRAGMENT_ORDER == b_first) load_a(a_tile + thread.row + k * T::kARow, step);
  }
  __device__ __forceinline__ void load_a(const float* column, int step) {
    load_fragment<T::kPatchM, T::kSubtileM>(a[step % BUFFERS], column);
  }
  template <MultiplyOrder ORDER>
  __device__ __forceinline__ void multiply(float (&sum)[T::TM][T::TN], int step) const {
    multiply_fragments<ORDER>(sum, a[step % BUFFERS], b[step % BUFFERS]);
  }
};

/// The same where A keeps its rows: four steps of k per load.
template <Loader LOADER, class T, int BUFFERS, FragmentOrder FRAGMENT_ORDER>
struct Fragments<LOADER, T, BUFFERS, FRAGMENT_ORDER, true> {
  float4 a[BUFFERS][T::TM];
  float b[BUFFERS][T::TN];

  __device__ __forceinline__ void load(const float* a_tile, const float* b_tile, TileOrigin thread, int step,
                                       int k) {
    if (step % 4 == 0) {
#pragma unroll
      for (int i = 0; i < T::TM; ++i) {
        const int row = thread.row + T::row(i);
        // The swizzle of a sum is the sum of the swizzles: thread.row has zeros where T::row(i) has ones.
        const int swizzle = row_swizzle<T::BK>(thread.row) ^ row_swizzle<T::BK>(T::row(i));
        a[step / 4 % BUFFERS][i] = load_quad(a_tile + row * T::BK + (k / 4 ^ swizzle) * 4);
      }
    }
    load_fragment<T::kPatchN, T::kSubtileN>(b[step % BUFFERS], b_tile + thread.column + k * T::BN);
  }
  template <MultiplyOrder ORDER>
  __device__ __forceinline__ void multiply(float (&sum)[T::TM][T::TN], int step) const {
    float column[T::TM];
#pragma unroll
    for (int i = 0; i < T::TM; ++i) {
      const float4 quad = a[step / 4 % BUFFERS][i];
      column[i] = step % 4 == 0 ? quad.x : step % 4 == 1 ? quad.y : step % 4 == 2 ? quad.z : quad.w;
    }
    multiply_fragments<ORDER>(sum, column, b[step % BUFFERS]);
  }
};

/// What a kernel multiplies: C[M,N] from A[M,K] and B[K,N]; the maps are those of A and B for bulk copies.
struct Operands {
  int M, N, K;
  const float* A;
  int lda;
  const float* B;
  int ldb;
  const TensorMap* a_map;
  const TensorMap* b_map;
};

/// The copies of a block: tiles of A and B, one after another along K. K is cut so that the first tile is the
/// one that may be short: it takes what K leaves over.
template <Loader LOADER, class T, int THREADS, int VEC, bool CLAMP, bool CUT>
class Copies {
 public:
  /// The next tile is number `first` along K.
  __device__ __forceinline__ Copies(float* shared, const Operands& operands, TileOrigin tile, int first,
                                    unsigned /*barriers*/, int /*stage_bytes*/)
      : first_depth_((operands.K - 1) % T::BK + 1),
        a_(shared, operands.A, operands.M, operands.lda, tile.row, k_of(first)),
        b_(shared + T::kATile, operands.B, operands.N, operands.ldb, tile.column, k_of(first)) {}

  /// Before the loop; `cut`: it is the short one.
  __device__ __forceinline__ void begin(int stage, bool cut) {
    if (CUT && cut) {
      a_.begin(stage, first_depth_);
      b_.begin(stage, first_depth_);
    } else {
      a_.begin(stage);
      b_.begin(stage);
    }
  }
  __device__ __forceinline__ void look_ahead() {
    a_.look_ahead();
    b_.look_ahead();
  }
  __device__ __forceinline__ void copy_a(int stage) { a_.copy(stage); }
  __device__ __forceinline__ void copy_b(int stage) { b_.copy(stage); }

 private:
  __device__ __forceinline__ int k_of(int tile) const {
    return tile == 0 ? 0 : first_depth_ + (tile - 1) * T::BK;
  }

  int first_depth_;
  typename CopyTypes<LOADER, T, THREADS, VEC, CLAMP>::A a_;
  typename CopyTypes<LOADER, T, THREADS, VEC, CLAMP>::B b_;
};

/// Bulk copies: one thread asks for whole boxes. What lies beyond the matrices arrives as zeros, so K is cut
/// from its beginning.
template <class T, int THREADS, int VEC, bool CLAMP, bool CUT>
class Copies<tma, T, THREADS, VEC, CLAMP, CUT> {
 public:
  __device__ __forceinline__ Copies(float* shared, const Operands& operands, TileOrigin tile, int first,
                                    unsigned barriers, int stage_bytes)
      : shared_(shared_address(shared)),
        barriers_(barriers),
        stage_bytes_(stage_bytes),
        a_map_(operands.a_map),
        b_map_(operands.b_map),
        tile_(tile),
        k_(first * T::BK) {}

  __device__ __forceinline__ void begin(int stage, bool /*cut*/) {
    copy_b(stage);
    copy_a(stage);
  }
  __device__ __forceinline__ void look_ahead() {}
  __device__ __forceinline__ void copy_b(int stage) {
    if (threadIdx.x != 0) return;
    arrive_and_expect(barrier(stage), T::kStage * 4);
    copy_box(shared_ + stage + T::kATile * 4, b_map_, tile_.column, k_, barrier(stage));
  }
  __device__ __forceinline__ void copy_a(int stage) {
    if (threadIdx.x == 0) copy_box(shared_ + stage, a_map_, k_, tile_.row, barrier(stage));
    k_ += T::BK;
  }

 private:
  __device__ __forceinline__ unsigned barrier(int stage) const {
    return barriers_ + stage / stage_bytes_ * 8;
  }

  unsigned shared_, barriers_;
  int stage_bytes_;
  const TensorMap* a_map_;
  const TensorMap* b_map_;
  TileOrigin tile_;
  int k_;
};

/// Whether stages form a ring that wraps with one instruction: then their size is a power of two.
constexpr bool is_ring(int stages) { return (stages & (stages - 1)) == 0; }

constexpr int power_of_two_from(int bytes, int power) {
  return power >= bytes ? power : power_of_two_from(bytes, 2 * power);
}

/// Bytes of shared memory that each of so many stages takes for tiles of `bytes`.
constexpr int stage_bytes(int bytes, int stages) {
  return is_ring(stages) ? power_of_two_from(bytes, 1024) : (bytes + 1023) / 1024 * 1024;
}

// Multiplies block tiles. GROUPS sets of T::kThreads threads work on the same tile of C, each on its part of
// every BK: small tiles of C have few threads, whose multiply-adds alone do not keep a multiprocessor busy.
//
// COPY_STEP: the step of k in which the copies of A for the tile STAGES - 1 further on are issued; those of B
// are issued in step 0.
template <class T, Loader LOADER, int VEC, Edges EDGES, int STAGES, int BUFFERS, FragmentOrder FRAGMENT_ORDER,
          MultiplyOrder ORDER, int COPY_STEP, int GROUPS = 1>
class Pipeline {
 public:
  static constexpr int kThreads = T::kThreads * GROUPS;
  static constexpr int kSteps = T::BK / GROUPS;  ///< of k that a group multiplies in a tile
  static_assert(STAGES >= 2, "one tile is multiplied while another is on its way");
  static_assert(kSteps % 2 == 0, "two fragment buffers take turns, and start each tile with the first");
  static_assert(COPY_STEP < kSteps - 1, "the last step waits for what was copied before");
  static_assert(!keeps_rows(LOADER) || kSteps % 8 == 0 || BUFFERS == 1 && kSteps % 4 == 0,
                "whole quads of k in every buffer");

  static constexpr int kStageBytes = stage_bytes(T::kStage * 4, STAGES);

  /// `shared`: on a boundary of 1024 bytes.
  __device__ __forceinline__ explicit Pipeline(float* shared) : shared_(shared) {
    if constexpr (LOADER == tma) {
      __shared__ unsigned long long barriers[STAGES];
      barriers_ = shared_address(barriers);
      if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < STAGES; ++i) init_barrier(barriers_ + 8 * i, 1);
        publish_barriers();
      }
      __syncthreads();
    }
  }

  /// Adds the product of `tiles` (at least 1) tiles of K from the `first` on to `sum`. Shared memory may be
  /// used again after a barrier.
  __device__ __forceinline__ void multiply(const Operands& operands, TileOrigin tile, int first, int tiles,
                                           float (&sum)[T::TM][T::TN]) {
    const bool inside = tile.row <= operands.M - T::BM && tile.column <= operands.N - T::BN;
    if (EDGES == none || (EDGES == two_loops && inside)) {
      run<false>(operands, tile, first, tiles, sum);
    } else {
      run<EDGES != none>(operands, tile, first, tiles, sum);
    }
  }

 private:
  static constexpr bool kRing = is_ring(STAGES);
  static __device__ __forceinline__ int next(int stage) {
    if (kRing) return (stage + kStageBytes) & (STAGES * kStageBytes - 1);
    return stage == (STAGES - 1) * kStageBytes ? 0 : stage + kStageBytes;
  }

  template <bool CLAMP>
  __device__ __forceinline__ void run(const Operands& operands, TileOrigin tile, int first, int tiles,
                                      float (&sum)[T::TM][T::TN]) {
    Copies<LOADER, T, kThreads, VEC, CLAMP, EDGES != none> copies(shared_, operands, tile, first, barriers_,
                                                                  kStageBytes);
    int read = LOADER == tma ? stage_ : 0, write = read;
#pragma unroll
    for (int i = 0; i < STAGES - 1; ++i) {
      if (i < tiles) copies.begin(write, i == 0 && first == 0);
      commit();
      write = next(write);
    }
    if (STAGES - 1 < tiles) copies.look_ahead();
    wait<STAGES - 2>(read);
    __syncthreads();

    const int group = GROUPS == 1 ? 0 : threadIdx.x / T::kThreads;
    const TileOrigin thread = T::thread_origin(GROUPS == 1 ? threadIdx.x : threadIdx.x % T::kThreads);
    Fragments<LOADER, T, BUFFERS, FRAGMENT_ORDER> fragments;
    const auto load = [&](int step) {
      const float* const a_tile = shared_ + read / 4;
      fragments.load(a_tile, a_tile + T::kATile, thread, step, group * kSteps + step);
    };

    if (BUFFERS == 2) load(0);
    for (int left = tiles - (STAGES - 1); left > 0; --left) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        if (BUFFERS == 2) {
          if (step == kSteps - 1) {
            read = next(read);
            wait<STAGES - 2>(read);
            __syncthreads();
          }
          load((step + 1) % kSteps);
        } else {
          load(step);
        }
        if (step == 0) copies.copy_b(write);
        if (step == COPY_STEP) {
          copies.copy_a(write);
          commit();
          write = next(write);
          if (left > 1) copies.look_ahead();
        }
        fragments.template multiply<ORDER>(sum, step);
      }
      if (BUFFERS == 1) {
        read = next(read);
        wait<STAGES - 2>(read);
        __syncthreads();
      }
    }
    // What is left is in shared memory or on its way.
    if (LOADER != tma) {
      if constexpr (LOADER != ldg) wait_for_copies<0>();
      __syncthreads();
    }
#pragma unroll 1
    for (int left = min(tiles, STAGES - 1); left > 0; --left) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        if (BUFFERS == 1) load(step);
        if (step == kSteps - 1) {
          read = next(read);
          if (LOADER == tma && left > 1) wait<0>(read);
        }
        if (BUFFERS == 2) load((step + 1) % kSteps);
        fragments.template multiply<ORDER>(sum, step);
      }
    }
    stage_ = read;
  }

  /// What this thread has started to copy is a stage. GPUs before compute capability 8.0 have no such copies.
  static __device__ __forceinline__ void commit() {
    if constexpr (LOADER != ldg) commit_copies();
  }

  /// Until this thread's copies (bulk copies: all) of the stage have arrived, with so many newer ones
  /// pending.
  template <int PENDING>
  __device__ __forceinline__ void wait(int stage) {
    if constexpr (LOADER == tma) {
      const int number = stage / kStageBytes;
      wait_for_phase(barriers_ + 8 * number, phases_ >> number & 1);
      phases_ ^= 1u << number;
    } else if constexpr (LOADER != ldg) {
      wait_for_copies<PENDING>();
    }
  }

  float* shared_;
  unsigned barriers_ = 0;
  unsigned phases_ = 0;  ///< bit i: parity of the next phase of barrier i
  int stage_ = 0;        ///< the next one to fill and to read, in bytes
};
