#include "common/quads.cuh"

// As sgemm_transposed_padded, four floats per instruction between global memory, shared memory and registers.
// Where rows do not start on 16-byte boundaries (K or N no multiple of 4), a second instance of the same code
// goes element by element.
//
// SPREAD: a thread's TM x TN elements are 4 x 4 patches spread over the block tile instead of one solid
// patch. Neighbouring threads then read neighbouring quads of shared memory, all 32 banks at once, instead of
// every other quad.
template <int VEC, int BM, int BN, int BK, int TM, int TN, int PAD, bool SPREAD>
__device__ __forceinline__ void multiply(float (&a_tile)[BK][BM + PAD], float (&b_tile)[BK][BN], int M, int N,
                                         int K, float alpha, const float* __restrict__ A,
                                         const float* __restrict__ B, float beta, float* __restrict__ C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  constexpr int kStepM = SPREAD ? BM / (TM / 4) : 4;  // from a patch of a thread to its next
  constexpr int kStepN = SPREAD ? BN / (TN / 4) : 4;

  const TileOrigin tile = tile_origin<BM, BN>(N);
  const int row = threadIdx.x / (BN / TN) * (SPREAD ? 4 : TM);
  const int column = threadIdx.x % (BN / TN) * (SPREAD ? 4 : TN);
  TileReader<Operand::a, kThreads, BM, BK, VEC> a_reader(A, M, K, tile.row);
  TileReader<Operand::b, kThreads, BN, BK, VEC> b_reader(B, N, N, tile.column);

  float sum[TM][TN] = {};
  int depth = (K - 1) % BK + 1;  // of the first tile: what is left over when K is cut into whole tiles
  a_reader.read_first(depth);
  b_reader.read_first(depth);
  for (int k0 = 0; k0 < K; k0 += depth, depth = BK) {
    if (k0 > 0) {
      a_reader.read();
      b_reader.read();
    }
    a_reader.advance(depth);
    b_reader.advance(static_cast<long long>(depth) * N);
    __syncthreads();  // everybody has done with the tiles before
    a_reader.template store<BM + PAD>(&a_tile[0][0]);
    b_reader.template store<BN>(&b_tile[0][0]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
      load_fragment<4, kStepM>(a, &a_tile[k][row]);
      load_fragment<4, kStepN>(b, &b_tile[k][column]);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
      }
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN / 4; ++j) {
      store_results<VEC>(C, M, N, N, tile.row + row + i / 4 * kStepM + i % 4,
                         tile.column + column + j * kStepN, alpha, &sum[i][j * 4], beta);
    }
  }
}

template <int BM, int BN, int BK, int TM, int TN, int PAD, bool SPREAD, int THREADS = (BM / TM) * (BN / TN)>
__global__ void __launch_bounds__(THREADS)
    sgemm_vectorized(int M, int N, int K, float alpha, const float* __restrict__ A,
                     const float* __restrict__ B, float beta, float* __restrict__ C) {
  __shared__ __align__(16) float a_tile[BK][BM + PAD];
  __shared__ __align__(16) float b_tile[BK][BN];

  if (rows_are_aligned(A, B, C, N, K)) {
    multiply<4, BM, BN, BK, TM, TN, PAD, SPREAD>(a_tile, b_tile, M, N, K, alpha, A, B, beta, C);
  } else {
    multiply<1, BM, BN, BK, TM, TN, PAD, SPREAD>(a_tile, b_tile, M, N, K, alpha, A, B, beta, C);
  }
}
