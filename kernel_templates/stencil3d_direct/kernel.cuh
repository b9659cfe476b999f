#include "common/stencil.cuh"

// Every thread reads the neighbours of its points through the L1 and L2 caches, without shared memory. It
// goes through TILE_Z planes and keeps the planes behind and ahead in registers: their points are read once.
// The rows above and below and the points beside come from the L1 cache, where neighbouring threads have
// brought them.
template <int BLOCK_X, int BLOCK_Y, int VEC, int TILE_Z, int MIN_BLOCKS>
__global__ void __launch_bounds__(BLOCK_X* BLOCK_Y, MIN_BLOCKS)
    stencil3d_direct(int nx, int ny, int nz, float center, float neighbour, const float* __restrict__ in,
                     float* __restrict__ out) {
  const int x = (blockIdx.x * BLOCK_X + threadIdx.x) * VEC, y = blockIdx.y * BLOCK_Y + threadIdx.y;
  const int first_z = blockIdx.z * TILE_Z;
  if (x >= nx || y >= ny) return;
  const long long plane = static_cast<long long>(nx) * ny;
  const long long first = first_z * plane + static_cast<long long>(y) * nx + x;
  in += first;
  out += first;

  Points<VEC> behind = Points<VEC>::read(in - plane, first_z > 0);
  Points<VEC> present = Points<VEC>::read(in, true);
#pragma unroll
  for (int i = 0; i < TILE_Z; ++i) {
    const int z = first_z + i;
    if (z >= nz) break;
    const Points<VEC> ahead = Points<VEC>::read(in + plane, z + 1 < nz);
    const Points<VEC> above = Points<VEC>::read(in - nx, y > 0);
    const Points<VEC> below = Points<VEC>::read(in + nx, y + 1 < ny);
    const float left = x > 0 ? __ldg(in - 1) : 0.0f;
    const float right = x + VEC < nx ? __ldg(in + VEC) : 0.0f;
    store_vector<VEC>(out,
                      apply_stencil(center, neighbour, left, present, right, above, below, behind, ahead).at);
    behind = present;
    present = ahead;
    in += plane;
    out += plane;
  }
}
