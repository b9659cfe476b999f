#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename T>
__device__ void reverse(const T* in, T* out, int count, int i) { out[count - 1 - i] = in[i]; }

extern "C" __global__ void every_type_reference(int count, signed char, unsigned short, unsigned long long, bool, __half,
                                                __nv_bfloat16, __nv_fp8_e4m3, const double* f16, double* of16, const double* bf16, double* obf16,
                                                const double* e4m3, double* oe4m3, const double* e5m2, double* oe5m2,
                                                const signed char* i8, signed char* oi8, const unsigned char* u8,
                                                unsigned char* ou8, const short* i16, short* oi16, const unsigned short* u16,
                                                unsigned short* ou16, const long long* i64, long long* oi64,
                                                const unsigned long long* u64, unsigned long long* ou64, const bool* bools,
                                                bool* obools, const double* f64, double* of64, double* sums) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= count) return;
  reverse(f16, of16, count, i);
  reverse(bf16, obf16, count, i);
  reverse(e4m3, oe4m3, count, i);
  reverse(e5m2, oe5m2, count, i);
  reverse(i8, oi8, count, i);
  reverse(u8, ou8, count, i);
  reverse(i16, oi16, count, i);
  reverse(u16, ou16, count, i);
  reverse(i64, oi64, count, i);
  reverse(u64, ou64, count, i);
  reverse(bools, obools, count, i);
  reverse(f64, of64, count, i);
  // The scalars: -7, 300, 1000, true, 1.5, -0.25 and 448.
  sums[i] = f16[i] + bf16[i] + e4m3[i] + e5m2[i] - 7 + 300 + 1000 + 1 + 1.5 - 0.25 + 448;
}
