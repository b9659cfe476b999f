extern "C" __global__ void row_sums_reference(const double* A, double* y, int m, int k) {
  const int row = 256 * blockIdx.x + threadIdx.x;
  if (row >= m) return;
  double sum = 0;
  for (int i = 0; i < k; ++i) sum += A[static_cast<long long>(row) * k + i];
  y[row] = sum;
}
