constexpr int kTile = 32;

// One thread per element of C; tiles of A and B in shared memory.
extern "C" __global__ void batched_gemm_reference(int M, int N, int K, double alpha, const double* A,
                                                  const double* B, double beta, double* C) {
  __shared__ double a[kTile][kTile], b[kTile][kTile];
  const int tiles_per_row = (N - 1) / kTile + 1, tiles_per_column = (M - 1) / kTile + 1;
  const int tile = blockIdx.x % (tiles_per_row * tiles_per_column);
  const long long batch = blockIdx.x / (tiles_per_row * tiles_per_column);
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = tile / tiles_per_row * kTile + y, column = tile % tiles_per_row * kTile + x;
  A += batch * M * K;
  B += batch * K * N;
  C += batch * M * N;
  double sum = 0;
  for (int k0 = 0; k0 < K; k0 += kTile) {
    a[y][x] = row < M && k0 + x < K ? A[static_cast<long long>(row) * K + k0 + x] : 0;
    b[y][x] = k0 + y < K && column < N ? B[static_cast<long long>(k0 + y) * N + column] : 0;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a[y][k] * b[k][x];
    __syncthreads();
  }
  if (row >= M || column >= N) return;
  double* c = C + static_cast<long long>(row) * N + column;
  *c = alpha * sum + (beta == 0 ? 0 : beta * *c);
}
