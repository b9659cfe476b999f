#pragma once

#include "common/mma.cuh"

// What becomes of the sums of a product: C = f(alpha * A * B + beta * C + bias), with a bias for each column.

enum Epilogue { identity, relu, gelu, bias, bias_relu, bias_gelu };

constexpr bool has_bias(Epilogue epilogue) { return epilogue >= bias; }

/// gelu is the approximation with tanh that cuBLASLt has: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <Epilogue EPILOGUE>
__device__ __forceinline__ float activated(float x) {
  if constexpr (EPILOGUE == relu || EPILOGUE == bias_relu) {
    return fmaxf(x, 0.0f);
  } else if constexpr (EPILOGUE == gelu || EPILOGUE == bias_gelu) {
    // tanh(y) = 1 - 2 / (e^2y + 1)
    const float twice = 1.5957691216057308f * (x + 0.044715f * x * x * x);
    return x - __fdividef(x, __expf(twice) + 1.0f);
  } else {
    return x;
  }
}

template <class T>
__device__ __forceinline__ float as_float(T value) {
  if constexpr (sizeof(T) == 4)
    return value;
  else
    return unpack<T>(*reinterpret_cast<const unsigned short*>(&value)).x;
}

/// What finishes the elements of C, of type T, whose sums are of type Sum. FP32, but for integers.
template <Epilogue EPILOGUE, class T, class Sum>
struct Finish {
  Sum alpha, beta;
  const T* bias_vector;
  T* C;
  int M, N, ldc;

  __device__ __forceinline__ T* at(int row, int column) const {
    return C + static_cast<long long>(row) * ldc + column;
  }

  /// With beta == 0 the old value is not read: it may be NaN.
  __device__ __forceinline__ Sum result(Sum sum, const T* old, int column) const {
    Sum value = alpha * sum;
    if constexpr (sizeof(T) == sizeof(Sum)) {
      if (beta != 0) value += beta * *old;
    } else {
      if (beta != 0) value += beta * as_float(*old);
    }
    if constexpr (has_bias(EPILOGUE)) value += as_float(bias_vector[column]);
    if constexpr (EPILOGUE != identity) value = activated<EPILOGUE>(value);
    return value;
  }

  /// The same for an element that may lie beyond C.
  __device__ __forceinline__ Sum at_place(Sum sum, int row, int column) const {
    if constexpr (!has_bias(EPILOGUE)) {
      if (beta == 0) {
        sum *= alpha;
        if constexpr (EPILOGUE != identity) sum = activated<EPILOGUE>(sum);
        return sum;
      }
    }
    return row < M && column < N ? result(sum, at(row, column), column) : sum;
  }

  /// Finishes two elements of a row, of which there may be one or none. PAIRS: they have one address.
  template <bool PAIRS>
  __device__ __forceinline__ void store(int row, int column, Sum first, Sum second) const {
    if (row >= M || column >= N) return;
    T* const c = at(row, column);
    if (PAIRS || column + 1 < N) {
      first = result(first, c, column);
      second = result(second, c + 1, column + 1);
      store_pair<PAIRS>(c, first, second);
    } else {
      store_element(row, column, first);
    }
  }

  /// Finishes one element, if it exists.
  __device__ __forceinline__ void store_element(int row, int column, Sum sum) const {
    if (row >= M || column >= N) return;
    T* const c = at(row, column);
    sum = result(sum, c, column);
    store_one(c, sum);
  }

 private:
  template <bool PAIRS>
  static __device__ __forceinline__ void store_pair(T* c, Sum first, Sum second) {
    if constexpr (!PAIRS) {
      store_one(c, first);
      store_one(c + 1, second);
    } else if constexpr (sizeof(T) == 2) {
      *reinterpret_cast<unsigned*>(c) = pack<T>(first, second);
    } else {
      struct alignas(8) Pair {
        T first, second;
      };
      *reinterpret_cast<Pair*>(c) = {first, second};
    }
  }
  static __device__ __forceinline__ void store_one(T* c, Sum value) {
    if constexpr (sizeof(T) == 2)
      *reinterpret_cast<unsigned short*>(c) = static_cast<unsigned short>(pack<T>(value, 0.0f));
    else
      *c = value;
  }
};

/// Finishes a warpgroup's sums in place, of ROWS x N elements whose first is (row, column) of C. TRANSPOSED: the
/// sums are those of C's transpose.
template <bool TRANSPOSED, int ROWS, int N, Epilogue EPILOGUE, class T, class Sum>
__device__ __forceinline__ void finish_tile(const Finish<EPILOGUE, T, Sum>& finish, Sum (&sum)[ROWS / 64][N / 2],
                                            int row, int column, int thread) {
  if constexpr (!has_bias(EPILOGUE)) {
    if (finish.beta == 0) {
#pragma unroll
      for (int m = 0; m < ROWS / 64; ++m) {
#pragma unroll
        for (int i = 0; i < N / 2; ++i) {
          sum[m][i] *= finish.alpha;
          if constexpr (EPILOGUE != identity) sum[m][i] = activated<EPILOGUE>(sum[m][i]);
        }
      }
      return;
    }
  }
  const int down = thread / 32 * 16 + thread % 32 / 4, across = thread % 4 * 2;
#pragma unroll
  for (int n = 0; n < N / 8; ++n) {
    __syncwarp();  // old values are read a few at a time: the sums leave no registers for more
#pragma unroll
    for (int m = 0; m < ROWS / 64; ++m) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int y = down + m * 64 + i / 2 * 8, x = across + n * 8 + i % 2;
        Sum& value = sum[m][n * 4 + i];
        value = finish.at_place(value, row + (TRANSPOSED ? x : y), column + (TRANSPOSED ? y : x));
      }
    }
  }
}
