// Keys that ascend by random gaps: a prefix sum of one thread block. It adds to what it finds, which is zeros.
extern "C" __global__ void ascending_keys(const unsigned char* gaps, unsigned* keys, int count) {
  __shared__ unsigned sums[1024];
  const int each = (count + 1023) / 1024;
  const int begin = threadIdx.x * each;
  const int end = min(begin + each, count);
  unsigned sum = 0;
  for (int i = begin; i < end; ++i) sum += gaps[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  unsigned key = 0;
  for (int i = 0; i < threadIdx.x; ++i) key += sums[i];
  for (int i = begin; i < end; ++i) {
    keys[i] += key;
    key += gaps[i];
  }
}

// Where the value of each key lies. It reads what the kernel above has computed.
extern "C" __global__ void places(const unsigned* keys, unsigned* at, int count, unsigned entries) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < count) at[i] = keys[i] % entries;
}

// What the output holds before each launch.
extern "C" __global__ void start(float* out, int count) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < count) out[i] = i % 7;
}
