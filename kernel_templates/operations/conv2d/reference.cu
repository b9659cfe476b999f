// One thread per element of the output.
extern "C" __global__ void conv2d_reference(int width, int height, int filter_width, int filter_height,
                                            const double* in, const double* filter, double* out) {
  const long long pixel = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pixel >= static_cast<long long>(width) * height) return;
  const long long pitch = width + filter_width - 1;
  in += pixel / width * pitch + pixel % width;
  double sum = 0;
  for (int i = 0; i < filter_height; ++i) {
    for (int j = 0; j < filter_width; ++j) sum += in[i * pitch + j] * filter[i * filter_width + j];
  }
  out[pixel] = sum;
}
