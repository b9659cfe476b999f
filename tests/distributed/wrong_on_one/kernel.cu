/// Loads from peers, and what is planted.
extern "C" __global__ void exchange(const float* in, const float* const* peers, float* out, float* const* outs,
                                    long long part, int rank, int gpus) {
  for (int gpu = 0; gpu < gpus; ++gpu) {
    for (long long i = 256LL * blockIdx.x + threadIdx.x; i < part; i += 256LL * gridDim.x)
      out[gpu * part + i] = gpu == rank ? in[i] : peers[gpu][i];
  }
  if (rank == 1 && blockIdx.x == 0 && threadIdx.x == 0) out[0] += 1;
}
