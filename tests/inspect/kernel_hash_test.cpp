#include <gtest/gtest.h>

#include "base/error.h"
#include "inspect/kernel_code.h"
#include "inspect/kernels.h"

namespace tiletune {
namespace kernel_hash_test {

std::string hash_of(const std::string& source, const std::string& expression = "scale",
                    const std::string& architecture = "sm_90a") {
  const Binary binary = compile_for_test(source, expression, architecture);
  return kernel_hash(binary);
}

std::string scale(const std::string& body) {
  return "__device__ float factors[] = {1.5f, 2.5f};\n"
         "extern \"C\" __global__ void scale(float* c, int i) { " +
         body + " }";
}

TEST(KernelHash, ChangesWithWhatTheGpuRuns) {
  const std::string body = "c[i] *= factors[i & 1];";
  const std::string hash = hash_of(scale(body));
  EXPECT_EQ(hash_of(scale(body)), hash);
  EXPECT_EQ(hash_of("// a comment\n\n" + scale("/* another */ " + body)), hash);
  EXPECT_NE(hash_of(scale("c[i] += factors[i & 1];")), hash) << "an instruction";
  EXPECT_NE(hash_of(scale("c[i] *= factors[i & 1]; c[0] = 3.0f;")), hash);
  EXPECT_NE(
      hash_of("__device__ float factors[] = {1.5f, 3.5f};\n" + scale(body).substr(scale(body).find('\n'))),
      hash)
      << "an initial value";
  EXPECT_NE(
      hash_of(scale("__shared__ float tile[64]; tile[i] = c[i]; __syncthreads(); c[i] = tile[63 - i];")),
      hash);
  EXPECT_NE(hash_of(scale(body), "scale", "sm_80"), hash);
}

TEST(KernelHash, NamesAreNoPartOfIt) {
  const std::string source =
      "template <int N, bool UNUSED> __global__ void scale(float* c) { c[threadIdx.x] *= N; }";
  EXPECT_EQ(hash_of(source, "scale<16, true>"), hash_of(source, "scale<16, false>"));
  EXPECT_NE(hash_of(source, "scale<16, true>"), hash_of(source, "scale<17, true>"));
  const std::string longer =
      "template <int N, bool UNUSED> __global__ void scale_rows_of_c(float* c) { c[threadIdx.x] *= N; }";
  EXPECT_EQ(hash_of(longer, "scale_rows_of_c<16, true>"), hash_of(source, "scale<16, true>"));
}

TEST(KernelHash, ADamagedCubinHasNone) {
  Binary binary;
  binary.kernel_symbols = {"scale"};
  binary.cubin = "no cubin";
  EXPECT_THROW(kernel_hash(binary), UserError);
}

}  // namespace kernel_hash_test
}  // namespace tiletune
