// Reads and writes an element of every type, as CUDA's own headers know them: outputs are the inputs, in another order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename T>
__device__ void reverse(const T* in, T* out, int count, int i) { out[count - 1 - i] = in[i]; }

extern "C" __global__ void every_type(int count, signed char c, unsigned short s, unsigned long long l, bool flag, __half h,
                                      __nv_bfloat16 b, __nv_fp8_e4m3 e, const __half* f16, __half* of16,
                                      const __nv_bfloat16* bf16, __nv_bfloat16* obf16, const __nv_fp8_e4m3* e4m3,
                                      __nv_fp8_e4m3* oe4m3, const __nv_fp8_e5m2* e5m2, __nv_fp8_e5m2* oe5m2,
                                      const signed char* i8, signed char* oi8, const unsigned char* u8, unsigned char* ou8,
                                      const short* i16, short* oi16, const unsigned short* u16, unsigned short* ou16,
                                      const long long* i64, long long* oi64, const unsigned long long* u64,
                                      unsigned long long* ou64, const bool* bools, bool* obools, const double* f64,
                                      double* of64, float* sums) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
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
  // What the harness takes the bits for, CUDA takes them for, too.
  sums[i] = float(f16[i]) + float(bf16[i]) + float(e4m3[i]) + float(e5m2[i]) + float(c) + float(s) + float(l) + float(flag) +
            float(h) + float(b) + float(e);
}
