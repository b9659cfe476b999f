#pragma once

#include "common/quads.cuh"

// VEC neighbouring points along x of a grid of nx x ny x nz points, x running fastest. nx is a multiple of
// VEC, so that such points exist or not all at once.
template <int VEC>
struct Points {
  float at[VEC];

  /// Those at `address`, or zeros.
  static __device__ __forceinline__ Points read(const float* address, bool exist) {
    Points points = {};
    if (exist) load_vector<VEC>(points.at, address);
    return points;
  }
};

/// The stencil's result for the points `center`, from their neighbours in all six directions; left and right
/// are the points beside the first and the last.
template <int VEC>
__device__ __forceinline__ Points<VEC> apply_stencil(float center_factor, float neighbour_factor, float left,
                                                     const Points<VEC>& center, float right,
                                                     const Points<VEC>& above, const Points<VEC>& below,
                                                     const Points<VEC>& behind, const Points<VEC>& ahead) {
  Points<VEC> result;
#pragma unroll
  for (int i = 0; i < VEC; ++i) {
    const float before = i == 0 ? left : center.at[i == 0 ? 0 : i - 1];
    const float after = i == VEC - 1 ? right : center.at[i == VEC - 1 ? 0 : i + 1];
    const float sum = before + after + above.at[i] + below.at[i] + behind.at[i] + ahead.at[i];
    result.at[i] = center_factor * center.at[i] + neighbour_factor * sum;
  }
  return result;
}
