// A thread per point, which reads its neighbours through the caches.
extern "C" __global__ void stencil3d_plain(int nx, int ny, int nz, float center, float neighbour,
                                           const float* __restrict__ in, float* __restrict__ out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z;
  if (x >= nx || y >= ny) return;
  const long long plane = static_cast<long long>(nx) * ny;
  const long long i = z * plane + static_cast<long long>(y) * nx + x;
  float sum = 0;
  if (x > 0) sum += in[i - 1];
  if (x < nx - 1) sum += in[i + 1];
  if (y > 0) sum += in[i - nx];
  if (y < ny - 1) sum += in[i + nx];
  if (z > 0) sum += in[i - plane];
  if (z < nz - 1) sum += in[i + plane];
  out[i] = center * in[i] + neighbour * sum;
}
