// One thread block per row.
extern "C" __global__ void softmax_rows_reference(const double* in, double* out) {
  const double* const row = in + static_cast<long long>(blockIdx.x) * COLUMNS;
  double sum = 0;
  for (int i = 0; i < COLUMNS; ++i) sum += exp(row[i]);
  for (int i = threadIdx.x; i < COLUMNS; i += blockDim.x) out[static_cast<long long>(blockIdx.x) * COLUMNS + i] = exp(row[i]) / sum;
}
