// One thread per point.
extern "C" __global__ void stencil3d_reference(int nx, int ny, int nz, double center, double neighbour,
                                               const double* in, double* out) {
  const long long point = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const long long plane = static_cast<long long>(nx) * ny;
  if (point >= plane * nz) return;
  const long long x = point % nx, y = point / nx % ny, z = point / plane;
  double sum = 0;
  if (x > 0) sum += in[point - 1];
  if (x < nx - 1) sum += in[point + 1];
  if (y > 0) sum += in[point - nx];
  if (y < ny - 1) sum += in[point + nx];
  if (z > 0) sum += in[point - plane];
  if (z < nz - 1) sum += in[point + plane];
  out[point] = center * in[point] + neighbour * sum;
}
