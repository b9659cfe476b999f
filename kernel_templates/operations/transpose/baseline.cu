// A thread per element: neighbouring threads read neighbouring elements, and write to as many rows. Only the
// size of an element matters.
template <int BYTES>
struct Bits;
template <>
struct Bits<1> {
  using Type = unsigned char;
};
template <>
struct Bits<2> {
  using Type = unsigned short;
};
template <>
struct Bits<4> {
  using Type = unsigned int;
};
template <>
struct Bits<8> {
  using Type = unsigned long long;
};

template <int BYTES>
__global__ void transpose_naive(int rows, int columns, const typename Bits<BYTES>::Type* __restrict__ in,
                                typename Bits<BYTES>::Type* __restrict__ out) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column < columns && row < rows)
    out[static_cast<long long>(column) * rows + row] = in[static_cast<long long>(row) * columns + column];
}
