#include "common/stencil.cuh"

// The 2.5D way (Micikevicius, 2009): a block owns a tile of x and y and marches through DEPTH planes along z.
// A thread keeps its points of the plane behind and of the planes ahead in registers; only the present plane
// is in shared memory, for the neighbours in x and y, in two tiles by turns, so that one barrier per plane is
// enough. Loads run AHEAD planes before their use. Threads at the border of the tile also load the row above
// or below it, or the point beside it.
template <int VEC>
struct PlanePart {
  Points<VEC> own;
  Points<VEC> row;  ///< above or below the tile, of threads in its first and last row
  float side;       ///< beside the tile, of threads in its first and last column
};

template <int BLOCK_X, int BLOCK_Y, int VEC, int DEPTH, int AHEAD, int MIN_BLOCKS>
__global__ void __launch_bounds__(BLOCK_X* BLOCK_Y, MIN_BLOCKS)
    stencil3d_plane(int nx, int ny, int nz, float center, float neighbour, const float* __restrict__ in,
                    float* __restrict__ out) {
  constexpr int kWidth = BLOCK_X * VEC;
  constexpr int kFirst = 4;  // column of the tile's first point, on a 16-byte boundary
  __shared__ __align__(16) float tile[2][BLOCK_Y + 2][kFirst + kWidth + 4];

  const int tx = threadIdx.x, ty = threadIdx.y;
  const int x = (blockIdx.x * BLOCK_X + tx) * VEC, y = blockIdx.y * BLOCK_Y + ty;
  const int first_z = blockIdx.z * DEPTH, end_z = min(nz, first_z + DEPTH);
  const bool exists = x < nx && y < ny;
  const bool first_row = ty == 0, last_row = ty == BLOCK_Y - 1;
  const bool first_column = tx == 0, last_column = tx == BLOCK_X - 1;
  const int row_y = first_row ? y - 1 : y + 1;
  const int side_x = first_column ? x - 1 : x + VEC;
  const bool row_exists = (first_row || last_row) && x < nx && row_y >= 0 && row_y < ny;
  const bool side_exists = (first_column || last_column) && y < ny && side_x >= 0 && side_x < nx;

  // Of the plane after the block's last, only the thread's own points are needed.
  const auto read = [&](int z) {
    const float* plane = in + static_cast<long long>(z) * ny * nx;
    PlanePart<VEC> part;
    part.own = Points<VEC>::read(plane + static_cast<long long>(y) * nx + x, z <= end_z && z < nz && exists);
    part.row = Points<VEC>::read(plane + static_cast<long long>(row_y) * nx + x, z < end_z && row_exists);
    part.side = z < end_z && side_exists ? plane[static_cast<long long>(y) * nx + side_x] : 0.0f;
    return part;
  };

  Points<VEC> behind =
      Points<VEC>::read(in + (static_cast<long long>(first_z - 1) * ny + y) * nx + x, first_z > 0 && exists);
  PlanePart<VEC> next[AHEAD + 1];  // the present plane and those ahead
#pragma unroll
  for (int i = 0; i < AHEAD; ++i) next[i] = read(first_z + i);

#pragma unroll 2
  for (int z = first_z; z < end_z; ++z) {
    next[AHEAD] = read(z + AHEAD);
    auto& present = tile[(z - first_z) % 2];
    store_vector<VEC>(&present[ty + 1][kFirst + tx * VEC], next[0].own.at);
    if (first_row) store_vector<VEC>(&present[0][kFirst + tx * VEC], next[0].row.at);
    if (last_row) store_vector<VEC>(&present[BLOCK_Y + 1][kFirst + tx * VEC], next[0].row.at);
    if (first_column) present[ty + 1][kFirst - 1] = next[0].side;
    if (last_column) present[ty + 1][kFirst + kWidth] = next[0].side;
    __syncthreads();
    if (exists) {
      const float* row = &present[ty + 1][kFirst + tx * VEC];
      const Points<VEC> result =
          apply_stencil(center, neighbour, row[-1], next[0].own, row[VEC],
                        Points<VEC>::read(&present[ty][kFirst + tx * VEC], true),
                        Points<VEC>::read(&present[ty + 2][kFirst + tx * VEC], true), behind, next[1].own);
      store_vector<VEC>(out + (static_cast<long long>(z) * ny + y) * nx + x, result.at);
    }
    behind = next[0].own;
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) next[i] = next[i + 1];
  }
}
