// One thread per element. Elements of any type are moved byte by byte: floating-point types are doubles here,
// and integers have their own size.
extern "C" __global__ void transpose_reference(int rows, int columns, int element_bytes,
                                               const unsigned char* in, unsigned char* out) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<long long>(rows) * columns) return;
  const long long to = i % columns * rows + i / columns;
  for (int byte = 0; byte < element_bytes; ++byte)
    out[to * element_bytes + byte] = in[i * element_bytes + byte];
}
