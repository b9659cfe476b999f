#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/compiler.h"
#include "compile/pool.h"
#include "test_support.h"

namespace tiletune {
namespace standard_headers_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

Compiled compile(const std::string& text, const std::vector<std::string>& options = {}) {
  CompileRequest request;
  request.source.name = "kernel.cu";
  request.source.text = text;
  request.options = {"--gpu-architecture=sm_80", "--std=c++17", "--device-as-default-execution-space"};
  request.options.insert(request.options.end(), options.begin(), options.end());
  request.kernel_expressions = {"k"};
  return compile_here(request);
}

std::string reason(const std::string& text, const std::vector<std::string>& options = {}) {
  const Compiled compiled = compile(text, options);
  EXPECT_EQ(compiled.outcome, Outcome::compile_failed);
  return compiled.reason;
}

TEST(StandardHeaders, AllCompileTogether) {
  std::string text;
  for (const NamedHeader& header : standard_headers())
    text += std::string("#include <") + header.name + ">\n";
  const Compiled compiled = compile(text + "extern \"C\" __global__ void k() {}");
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
}

TEST(StandardHeaders, OfCNeedNoOthers) {
  for (const char* name : {"stdint.h", "stddef.h", "stdio.h", "stdlib.h", "string.h", "math.h", "float.h",
                           "limits.h", "assert.h", "cstdint", "cstdio", "cmath", "cfloat", "climits"}) {
    const Compiled compiled =
        compile(std::string("#include <") + name + ">\nextern \"C\" __global__ void k(size_t n) {}");
    EXPECT_EQ(compiled.outcome, Outcome::ok) << name << "\n" << compiled.reason;
  }
}

TEST(StandardHeaders, HaveWhatKernelsWrittenForNvccUse) {
  const Compiled compiled = compile(R"cuda(
#include <assert.h>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cooperative_groups.h>
#include <cstdint>
#include <cuda_runtime.h>
#include <limits>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <algorithm>
#include <type_traits>
namespace cg = cooperative_groups;
template <typename T> __device__ T largest() { return std::numeric_limits<T>::max(); }
extern "C" __global__ void k(float* x, uint32_t n, int64_t m) {
  static_assert(std::is_same_v<std::conditional_t<true, float, int>, float>, "");
  static_assert(sizeof(size_t) == 8 && UINT_MAX == 0xffffffffu && INT64_MAX > 0, "");
  cg::thread_block block = cg::this_thread_block();
  float value = std::sqrt(x[0]) + std::max(x[1], FLT_MAX) + std::pow(x[2], 2.0f) + fabs(x[3]) + std::abs(-2);
  if (std::isnan(value) || isinf(value)) printf("%f\n", value);
  assert(n > 0);
  block.sync();
  memcpy(&x[4], &value, sizeof value);
  x[5] = largest<float>() + float(M_PI) + std::min<int64_t>(n, m) + std::uint8_t(n);
}
)cuda");
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
}

TEST(StandardHeaders, BlockAlgorithmsOfCub) {
  const Compiled compiled = compile(R"cuda(
#include <cub/cub.cuh>
extern "C" __global__ void k(float* x) {
  typedef cub::BlockReduce<float, 128> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  const float sum = Reduce(storage).Sum(x[threadIdx.x]);
  if (threadIdx.x == 0) x[0] = sum;
}
)cuda");
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
}

TEST(StandardHeaders, ConstantsNeedNone) {
  const Compiled compiled =
      compile("extern \"C\" __global__ void k(float* x) { x[0] = -INFINITY; x[1] = NAN * M_PI; }");
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  const Compiled own =
      compile("#define M_PI 3\n#define NAN 1\nextern \"C\" __global__ void k(int* x) { x[M_PI] = NAN; }");
  EXPECT_EQ(own.outcome, Outcome::ok) << own.reason;
}

Compiled compile_in(const TemporaryFolder& folder, const std::string& text) {
  const auto source = folder.write("kernel.cu", text);
  CompileRequest request;
  request.source = read_kernel_source(source, source.parent_path(), {}, source.parent_path(), false);
  request.options = {"--gpu-architecture=sm_80", "--std=c++17"};
  request.kernel_expressions = {"k"};
  return compile_here(request);
}

TEST(StandardHeaders, AFileOfTheKernelsFolderComesFirst) {
  const TemporaryFolder folder;
  folder.write("version", "constexpr int kMine = 3;\n");
  const Compiled compiled =
      compile_in(folder, "#include <version>\nextern \"C\" __global__ void k(int* x) { x[0] = kMine; }");
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
}

TEST(Options, ThatTheSourceOverridesAreFailures) {
  const std::string kernel = "extern \"C\" __global__ void k(int* x) { x[0] = BM; }";
  EXPECT_THAT(reason("\n#define BM 32\n" + kernel, {"-DBM=64"}),
              AllOf(HasSubstr("kernel.cu(2)"), HasSubstr("BM"), HasSubstr("-DBM=64")));
  EXPECT_EQ(compile("#define BM 64\n" + kernel, {"-DBM=64"}).outcome, Outcome::ok) << "the same value";
  EXPECT_EQ(compile("#ifndef BM\n#define BM 1\n#endif\n" + kernel, {"-DBM=64"}).outcome, Outcome::ok);
  EXPECT_EQ(compile("#define N 1\n#define N 2\n" + kernel, {"-DBM=64"}).outcome, Outcome::ok) << "no option";
}

TEST(Options, ThatTheSourceUndefinesAndOverridesAreFailures) {
  const std::string kernel = "extern \"C\" __global__ void k(int* x) { x[0] = BM; }";
  const std::string overrides = "\n#undef BM\n#define BM 32\n" + kernel;
  const auto names_both = AllOf(HasSubstr("kernel.cu(3)"), HasSubstr("BM"), HasSubstr("-DBM=64"));
  EXPECT_THAT(reason(overrides, {"-DBM=64"}), names_both);
  EXPECT_THAT(reason(overrides, {"-DBM=64", "-w"}), names_both);
  EXPECT_THAT(reason(overrides, {"-DBM=1", "--define-macro=BM=64"}), HasSubstr("--define-macro=BM=64"));
  EXPECT_THAT(reason("\n#undef BM\n#define BM 0\n" + kernel, {"-DBM"}), HasSubstr("kernel.cu(3)"));
  EXPECT_EQ(compile("#undef BM\n#define BM 64\n" + kernel, {"-DBM=64"}).outcome, Outcome::ok) << "the same";
  EXPECT_EQ(compile(kernel + "\n#undef BM", {"-DBM=64"}).outcome, Outcome::ok) << "it had its effect";
}

TEST(Options, AreCheckedWithoutMovingTheLinesOfMessages) {
  const std::string broken = "extern \"C\" __global__ void k(int* x) {\n  x[0] = BM;\n";
  EXPECT_EQ(reason(broken, {"-DBM=64"}), reason(broken, {"-DBM=64", "-DOTHER=1"}));
  EXPECT_THAT(reason("#if BM\n", {"-DBM=64"}), HasSubstr("kernel.cu(1)"));
  EXPECT_THAT(reason("/* never ends", {"-DBM=64"}), HasSubstr("kernel.cu(1)"));
  EXPECT_THAT(reason("\n\nint x = undeclared;", {"-DBM=64"}), HasSubstr("kernel.cu(3)"));
}

/// NVRTC's own header, which is read before the source, has parameters of these names.
TEST(Options, MayHaveTheNamesThatNvrtcsHeaderUses) {
  std::string sum;
  std::vector<std::string> options;
  for (const char* name :
       {"T",      "x",     "y",     "a",      "b",      "f",      "p",     "size",  "mode",  "width",
        "height", "val",   "value", "type",   "ptr",    "offset", "src",   "dst",   "level", "depth",
        "flags",  "bytes", "pitch", "device", "stream", "result", "count", "index", "n"}) {
    options.push_back(std::string("-D") + name + "=4");
    sum += std::string(" + ") + name;
  }
  const Compiled compiled =
      compile("extern \"C\" __global__ void k(int* out) { *out = 0" + sum + "; }", options);
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
}

TEST(Options, MayReplaceMacrosOfThePrelude) {
  const std::string kernel = "static_assert(M_PI == 3); extern \"C\" __global__ void k() {}";
  EXPECT_EQ(compile(kernel, {"-DM_PI=3"}).outcome, Outcome::ok);
  const std::string bare = "#ifdef BM\n#error defined\n#endif\nextern \"C\" __global__ void k() {}";
  EXPECT_EQ(compile(bare, {"-DBM=3", "-UBM"}).outcome, Outcome::ok);
  EXPECT_EQ(compile("\xef\xbb\xbf" + kernel, {"-DM_PI=3"}).outcome, Outcome::ok) << "a byte order mark";
}

TEST(StandardHeaders, ThatAreForHostCodeAreLeftOut) {
  for (const char* name : {"time.h", "errno.h", "unistd.h", "inttypes.h", "omp.h", "iostream"}) {
    const std::string include = std::string("#include <") + name + ">\n";
    EXPECT_EQ(compile(include + "extern \"C\" __global__ void k() {}").outcome, Outcome::ok) << name;
  }
  EXPECT_THAT(reason("#include <iostream>\nextern \"C\" __global__ void k() { std::cout << 1; }"),
              AllOf(HasSubstr("cout"), HasSubstr("host code"), HasSubstr("kernel.cu(1)")));
}

}  // namespace standard_headers_test
}  // namespace tiletune
