// A thread per output, which reads its window through the caches.
extern "C" __global__ void conv2d_plain(int width, int height, int filter_width, int filter_height,
                                        const float* __restrict__ in, const float* __restrict__ filter,
                                        float* __restrict__ out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const long long pitch = width + filter_width - 1;
  float sum = 0;
  for (int i = 0; i < filter_height; ++i) {
    for (int j = 0; j < filter_width; ++j) sum += in[(y + i) * pitch + x + j] * filter[i * filter_width + j];
  }
  out[static_cast<long long>(y) * width + x] = sum;
}
