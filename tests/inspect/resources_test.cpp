#include "inspect/resources.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <regex>

#include "base/error.h"
#include "carries.h"
#include "inspect/kernels.h"

namespace tiletune {
namespace resources_test {

/// Kernels that differ in every resource: static and dynamic shared memory, stack, spills, barriers, launch
/// bounds, constants, a call.
const char* const kSource = R"cuda(
extern "C" __global__ void plain(const float* a, float* c) { c[threadIdx.x] = a[threadIdx.x]; }

template <int N>
__global__ void __launch_bounds__(N) shared(const float* a, float* c) {
  __shared__ float tile[N * 4];
  tile[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  c[threadIdx.x] = tile[N - 1 - threadIdx.x];
}

extern "C" __global__ void dynamic_shared(const float* a, float* c, int n) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  c[threadIdx.x] = tile[n - threadIdx.x];
}

extern "C" __global__ void odd_shared(const char* a, char* c) {
  __shared__ char tile[1001];
  tile[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  c[threadIdx.x] = tile[1000 - threadIdx.x];
}

extern "C" __global__ void largest_static_shared(const float* a, float* c) {
  __shared__ float tile[12288];
  tile[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  c[threadIdx.x] = tile[12287 - threadIdx.x];
}

extern "C" __global__ void stack(const int* index, float* c, int n) {
  float values[100];
  for (int i = 0; i < 100; ++i) values[i] = c[i * n];
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += values[index[i]];
  c[threadIdx.x] = sum;
}

template <int N>
__global__ void __launch_bounds__(64, 16) spilling(float* a, int n) {
  float values[N];
  for (int i = 0; i < N; ++i) values[i] = a[i * n];
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < N; ++i) values[i] += values[(i * 7) % N] * a[j];
  float sum = 0;
  for (int i = 0; i < N; ++i) sum += values[i];
  a[threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(1024) two_named_barriers(const float* a, float* c) {
  asm volatile("bar.sync 3, 128;");
  c[threadIdx.x] = a[threadIdx.x];
  asm volatile("bar.sync 5, 64;");
}

__constant__ float table[16];
extern "C" __global__ void constants(float* c) { c[threadIdx.x] = table[threadIdx.x & 15]; }

/// An array that is indexed, beside values that do not fit in the registers.
template <int N>
__global__ void __launch_bounds__(64, 16) spilling_beside_array(float* a, const int* index, int n) {
  float values[N], array[40];
  for (int i = 0; i < N; ++i) values[i] = a[i * n];
  for (int i = 0; i < 40; ++i) array[i] = a[i * 3];
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < N; ++i) values[i] += values[(i * 7) % N] * a[j];
    array[index[j]] += values[3];
  }
  float sum = 0;
  for (int i = 0; i < N; ++i) sum += values[i];
  for (int i = 0; i < 40; ++i) sum += array[i];
  a[threadIdx.x] = sum;
}

template <typename T>
__global__ void __launch_bounds__(64, 16) spilling_type(T* a, int n) {
  T values[100];
  for (int i = 0; i < 100; ++i) values[i] = a[i * n];
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < 100; ++i) values[i] += values[(i * 7) % 100] * a[j];
  for (int i = 0; i < 100; ++i) a[threadIdx.x + i * 64] = values[i];
}

__device__ __noinline__ float sum_of_powers(const float* p, int n) {
  return n < 2 ? p[n] : sum_of_powers(p + 1, n - 1) * p[n] + sum_of_powers(p, n - 2);
}
extern "C" __global__ void recursive(float* c, int n) { c[threadIdx.x] = sum_of_powers(c, n); }

__device__ __noinline__ float callee(const float* p, int n) {
  float values[32];
  for (int i = 0; i < 32; ++i) values[i] = p[i * n];
  return values[n & 31];
}
extern "C" __global__ void calling(float* c, int n) { c[threadIdx.x] = callee(c, n) + callee(c + 1, n + 1); }
)cuda";

const std::vector<std::string> kKernels = {"plain",
                                           "shared<64>",
                                           "shared<257>",
                                           "dynamic_shared",
                                           "odd_shared",
                                           "stack",
                                           "spilling<128>",
                                           "spilling_beside_array<64>",
                                           "spilling_beside_array<96>",
                                           "spilling_type<unsigned char>",
                                           "spilling_type<double>",
                                           "constants",
                                           "two_named_barriers",
                                           "calling",
                                           "recursive",
                                           "largest_static_shared"};

/// What ptxas says of the kernel, read independently of the code under test: by regular expressions.
Resources from_log(const LoggedBinary& binary) {
  const auto start = binary.log.find("Compiling entry function '" + binary.kernel_symbols[0] + "'");
  const std::string text = binary.log.substr(start);
  const auto number = [&](const std::string& pattern) -> std::int64_t {
    std::smatch match;
    const std::string of_kernel = text.substr(0, text.find("Compile time"));
    return std::regex_search(of_kernel, match, std::regex(pattern)) ? std::stoll(match[1]) : 0;
  };
  Resources out;
  out.registers = static_cast<int>(number("Used (\\d+) registers"));
  out.barriers = static_cast<int>(number("used (\\d+) barriers"));
  out.stack_bytes = number("(\\d+) bytes stack frame");
  out.spill_store_bytes = number("(\\d+) bytes spill stores");
  out.spill_load_bytes = number("(\\d+) bytes spill loads");
  out.static_shared_bytes = number("(\\d+) bytes smem");
  return out;
}

/// All kernels are compiled once per architecture.
const LoggedBinary& compiled(const std::string& kernel, const std::string& architecture) {
  static std::map<std::string, std::vector<LoggedBinary>> modules;
  std::vector<LoggedBinary>& module = modules[architecture];
  if (module.empty()) module = compile_all_for_test(kSource, kKernels, architecture);
  const auto index = std::find(kKernels.begin(), kKernels.end(), kernel) - kKernels.begin();
  return module.at(static_cast<std::size_t>(index));
}

class ResourcesTest : public testing::TestWithParam<std::string> {};

TEST_P(ResourcesTest, EqualThePtxasLogForEveryKernel) {
  for (const std::string& kernel : kKernels) {
    const LoggedBinary& binary = compiled(kernel, GetParam());
    const Resources read = read_resources(binary);
    const Resources expected = from_log(binary);
    SCOPED_TRACE(kernel + "\n" + binary.log);
    EXPECT_EQ(read.registers, expected.registers);
    EXPECT_EQ(read.barriers, expected.barriers);
    EXPECT_EQ(read.stack_bytes, expected.stack_bytes);
    EXPECT_EQ(read.spill_store_bytes, expected.spill_store_bytes);
    EXPECT_EQ(read.spill_load_bytes, expected.spill_load_bytes);
    EXPECT_EQ(read.static_shared_bytes, expected.static_shared_bytes);
    EXPECT_GT(read.code_bytes, 0);
    EXPECT_EQ(read.code_bytes % 16, 0);
  }
}

TEST_P(ResourcesTest, LaunchBoundsAreReadAndZeroWhenAbsent) {
  EXPECT_EQ(read_resources(compiled("shared<257>", GetParam())).max_threads, 257);
  EXPECT_EQ(read_resources(compiled("two_named_barriers", GetParam())).max_threads, 1024);
  EXPECT_EQ(read_resources(compiled("plain", GetParam())).max_threads, 0);
}

TEST_P(ResourcesTest, ParametersAreReadInTheirOrderUsedOrNot) {
  using Sizes = std::vector<int>;
  EXPECT_EQ(read_resources(compiled("plain", GetParam())).parameter_bytes, (Sizes{8, 8}));
  EXPECT_EQ(read_resources(compiled("dynamic_shared", GetParam())).parameter_bytes, (Sizes{8, 8, 4}));
  const char* const source =
      "struct Large { char bytes[4000]; };\n"
      "extern \"C\" __global__ void none() {}\n"
      "extern \"C\" __global__ void many(char a, double b, short c, float unused, const int* d) {}\n"
      "extern \"C\" __global__ void large(int a, Large b, float* c) { c[a] = b.bytes[a]; }\n";
  const auto module = compile_all_for_test(source, {"none", "many", "large"}, GetParam());
  EXPECT_EQ(read_resources(module[0]).parameter_bytes, Sizes{});
  EXPECT_EQ(read_resources(module[1]).parameter_bytes, (Sizes{1, 8, 2, 4, 8}));
  EXPECT_EQ(read_resources(module[2]).parameter_bytes, (Sizes{4, 4000, 8}));
}

TEST(Clusters, AreReadAndOneBlockWhenAbsent) {
  const char* const source =
      "extern \"C\" __global__ void __cluster_dims__(4, 2, 1) together(float* c) { *c = 1; }\n"
      "extern \"C\" __global__ void alone(float* c) { *c = 1; }\n";
  for (const char* architecture : {"sm_90a", "sm_100", "sm_120"}) {
    const auto module = compile_all_for_test(source, {"together", "alone"}, architecture);
    EXPECT_EQ(read_resources(module[0]).cluster, (Dim3{4, 2, 1})) << architecture;
    EXPECT_EQ(read_resources(module[1]).cluster, Dim3{}) << architecture;
  }
}

TEST(LargeParameters, AreReadFromTheirOwnAttribute) {
  const char* const source =
      "struct Large { char bytes[5000]; };\n"
      "extern \"C\" __global__ void large(int a, Large b, float* c) { c[a] = b.bytes[a]; }\n";
  for (const char* architecture : {"sm_90a", "sm_100"}) {
    EXPECT_EQ(read_resources(compile_for_test(source, "large", architecture)).parameter_bytes,
              (std::vector<int>{4, 5000, 8}))
        << architecture;
  }
}

TEST_P(ResourcesTest, TheArchitectureIsTheOneCompiledFor) {
  EXPECT_EQ(read_resources(compiled("plain", GetParam())).architecture, std::atoi(GetParam().c_str() + 3));
}

TEST_P(ResourcesTest, TheKernelsThatShouldSpillAndHaveAStackDo) {
  const Resources spilling = read_resources(compiled("spilling<128>", GetParam()));
  EXPECT_GT(spilling.spill_store_bytes, 0);
  EXPECT_EQ(spilling.spill_bytes(), spilling.spill_store_bytes + spilling.spill_load_bytes);
  EXPECT_EQ(read_resources(compiled("stack", GetParam())).stack_bytes, 400);
  EXPECT_EQ(read_resources(compiled("largest_static_shared", GetParam())).static_shared_bytes, 49152);
  EXPECT_EQ(read_resources(compiled("odd_shared", GetParam())).static_shared_bytes, 1008);
}

TEST_P(ResourcesTest, ConstantMemoryIsTheVariablesWithoutTheArguments) {
  EXPECT_EQ(read_resources(compiled("constants", GetParam())).constant_bytes, 16 * 4);
  const char* const without = "extern \"C\" __global__ void k(float* c, float a, float b) { *c = a + b; }";
  EXPECT_EQ(read_resources(compile_for_test(without, "k", GetParam())).constant_bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(Architectures, ResourcesTest, testing::ValuesIn(kArchitectures),
                         [](const auto& name) { return name.param; });

std::string message_of(const Binary& binary) {
  try {
    read_resources(binary);
  } catch (const UserError& error) {
    return error.message();
  }
  return "no error";
}

TEST(BadCubin, EachKindOfDamageIsNamed) {
  const Binary good = compiled("plain", "sm_90a");
  Binary bad = good;
  bad.cubin = "";
  EXPECT_TRUE(carries(message_of(bad), {"ELF"}));
  bad.cubin = "PK and much more text that is certainly no ELF image of a GPU";
  EXPECT_TRUE(carries(message_of(bad), {"ELF"}));
  bad.cubin = good.cubin;
  bad.cubin[4] = 1;
  EXPECT_TRUE(carries(message_of(bad), {"64", "ELF"}));
  bad.cubin = good.cubin;
  bad.cubin[0x12] = 62;
  EXPECT_TRUE(carries(message_of(bad), {"another machine"}));
  bad.cubin = good.cubin.substr(0, 40);
  EXPECT_TRUE(carries(message_of(bad), {"cut off"}));
  bad = good;
  bad.kernel_symbols[0] = "plai";
  EXPECT_TRUE(carries(message_of(bad), {"no kernel plai", "'plain'"}));
}

TEST(BadCubin, ARegisterCountThatContradictsItselfIsRefused) {
  Binary binary = compiled("plain", "sm_80");
  const Resources good = read_resources(binary);
  // The attribute is the four bytes 04 2f 08 00, the symbol's index, the count.
  const auto at = binary.cubin.find(std::string("\x04\x2f\x08\x00", 4));
  ASSERT_NE(at, std::string::npos);
  ASSERT_EQ(binary.cubin[at + 8], static_cast<char>(good.registers));
  // The module has one kernel per name and this source several: alter the counts of all.
  for (auto next = at; next != std::string::npos;
       next = binary.cubin.find(std::string("\x04\x2f\x08\x00", 4), next + 1)) {
    binary.cubin[next + 8] = 77;
  }
  EXPECT_TRUE(carries(message_of(binary), {"77", fmt::format("{} registers", good.registers)}));
}

TEST(BadCubin, ARegisterCountBeyondTheEncodingIsRefused) {
  Binary binary = compiled("plain", "sm_90a");
  const std::string attribute("\x04\x2f\x08\x00", 4);
  const auto count = static_cast<unsigned>(read_resources(binary).registers);
  for (auto at = binary.cubin.find(attribute); at != std::string::npos;
       at = binary.cubin.find(attribute, at + 1)) {
    binary.cubin[at + 11] = 1;
  }
  EXPECT_TRUE(carries(message_of(binary), {std::to_string((1U << 24) + count)}));
}

/// Reads a damaged image; any result is fine but a crash or an exception of another kind.
void expect_result_or_user_error(const Binary& binary) {
  try {
    const Resources resources = read_resources(binary);
    EXPECT_GT(resources.registers, 0);
  } catch (const UserError&) {
  }
}

TEST(BadCubin, EveryTruncationIsSurvived) {
  const Binary good = compiled("spilling<128>", "sm_90a");
  Binary cut = good;
  for (std::size_t size = 0; size < good.cubin.size(); size += 7) {
    cut.cubin = good.cubin.substr(0, size);
    expect_result_or_user_error(cut);
  }
}

TEST(BadCubin, FlippedBitsAreSurvived) {
  std::mt19937_64 random(1);
  for (const char* architecture : {"sm_80", "sm_90a"}) {
    const Binary good = compiled("shared<64>", architecture);
    for (int round = 0; round < 20000; ++round) {
      Binary bad = good;
      for (int flips = 0; flips < 1 + round % 8; ++flips) {
        bad.cubin[random() % bad.cubin.size()] ^= static_cast<char>(1 << random() % 8);
      }
      expect_result_or_user_error(bad);
    }
  }
}

TEST(BadCubin, EveryByteOfTheHeadersAtItsExtremesIsSurvived) {
  const Binary good = compile_for_test("extern \"C\" __global__ void k(float* c) { *c = 1; }", "k", "sm_90a");
  for (std::size_t at = 0; at < good.cubin.size(); ++at) {
    for (const int value : {0x00, 0x7f, 0x80, 0xff}) {
      Binary bad = good;
      bad.cubin[at] = static_cast<char>(value);
      expect_result_or_user_error(bad);
    }
  }
}

}  // namespace resources_test
}  // namespace tiletune
