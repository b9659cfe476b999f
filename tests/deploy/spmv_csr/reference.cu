extern "C" __global__ void spmv_reference(int rows, const int* offsets, const int* indices, const double* values,
                                          const double* x, double* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int i = offsets[row]; i < offsets[row + 1]; ++i) sum += values[i] * x[indices[i]];
  y[row] = sum;
}
