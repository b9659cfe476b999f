#pragma once

#include "common/vectors.cuh"

/// Where a block keeps its row between reading and writing it.
enum RowCache { registers, shared, none };

/// The block's row in vectors of VEC elements, distributed over its threads: thread t has the vectors
/// t, t + THREADS, t + 2 * THREADS, ..., and no thread reads another's, so that no barrier is needed.
/// COUNT of them are loaded before the first is used.
template <class T, int THREADS, int VEC, RowCache CACHE, int COUNT, bool STREAMED>
class BlockRow {
 public:
  /// `row` and `result` are the block's row of input and output, `kept` the dynamic shared memory.
  __device__ BlockRow(int columns, const T* row, T* result, T* kept)
      : columns_(columns), row_(row), result_(result), kept_(kept) {}

  /// Calls use(values, column) with the VEC floats of every vector of the thread. CACHE registers: use gets
  /// columns past the end as `filler` as well, and may change the values, which write() then passes on.
  template <class Use>
  __device__ __forceinline__ void read(float filler, Use use) {
    // What is read again must stay in the caches.
    constexpr bool kLastRead = STREAMED && CACHE != none;
    if constexpr (CACHE == registers) {
#pragma unroll
      for (int v = 0; v < COUNT; ++v) {
        if (column(0, v) < columns_) {
          convert(load_vector<VEC, kLastRead>(row_ + column(0, v)), values_[v]);
        } else {
#pragma unroll
          for (int i = 0; i < VEC; ++i) values_[v][i] = filler;
        }
      }
      read_again(use);
    } else {
      for (int start = 0; start < columns_; start += kStep) {
        Vector<T, VEC> vectors[COUNT];
#pragma unroll
        for (int v = 0; v < COUNT; ++v) {
          if (column(start, v) < columns_) vectors[v] = load_vector<VEC, kLastRead>(row_ + column(start, v));
        }
#pragma unroll
        for (int v = 0; v < COUNT; ++v) {
          if (column(start, v) >= columns_) continue;
          if constexpr (CACHE == shared) store_vector<false>(kept_ + column(start, v), vectors[v]);
          float values[VEC];
          convert(vectors[v], values);
          use(values, column(start, v));
        }
      }
    }
  }

  /// CACHE registers: calls use(values, column) with the same vectors.
  template <class Use>
  __device__ __forceinline__ void read_again(Use use) {
    static_assert(CACHE == registers, "other caches hold no values that could have changed");
#pragma unroll
    for (int v = 0; v < COUNT; ++v) use(values_[v], column(0, v));
  }

  /// Calls change(values, column) with the same vectors, and stores the values that it leaves.
  template <class Change>
  __device__ __forceinline__ void write(Change change) {
    if constexpr (CACHE == registers) {
#pragma unroll
      for (int v = 0; v < COUNT; ++v) {
        if (column(0, v) < columns_) store(values_[v], column(0, v), change);
      }
    } else {
      for (int start = 0; start < columns_; start += kStep) {
        Vector<T, VEC> vectors[COUNT];
#pragma unroll
        for (int v = 0; v < COUNT; ++v) {
          if (column(start, v) >= columns_) continue;
          if constexpr (CACHE == shared)
            vectors[v] = load_vector<VEC, false>(kept_ + column(start, v));
          else
            vectors[v] = load_vector<VEC, STREAMED>(row_ + column(start, v));
        }
#pragma unroll
        for (int v = 0; v < COUNT; ++v) {
          if (column(start, v) >= columns_) continue;
          float values[VEC];
          convert(vectors[v], values);
          store(values, column(start, v), change);
        }
      }
    }
  }

 private:
  static constexpr int kStep = COUNT * THREADS * VEC;  // columns from one round of loads to the next

  __device__ __forceinline__ static int column(int start, int v) {
    return start + (v * THREADS + static_cast<int>(threadIdx.x)) * VEC;
  }

  __device__ __forceinline__ static void convert(const Vector<T, VEC>& vector, float (&values)[VEC]) {
#pragma unroll
    for (int i = 0; i < VEC; ++i) values[i] = to_float(vector.at[i]);
  }

  template <class Change>
  __device__ __forceinline__ void store(float (&values)[VEC], int column, Change change) {
    change(values, column);
    Vector<T, VEC> vector;
#pragma unroll
    for (int i = 0; i < VEC; ++i) vector.at[i] = from_float<T>(values[i]);
    store_vector<STREAMED>(result_ + column, vector);
  }

  int columns_;
  const T* row_;
  T* result_;
  T* kept_;
  float values_[CACHE == registers ? COUNT : 1][VEC];
};
