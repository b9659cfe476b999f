#include <gtest/gtest.h>
#include <nvrtc.h>

#include <regex>
#include <utility>

#include "base/error.h"
#include "carries.h"
#include "inspect/elf.h"
#include "inspect/kernel_code.h"
#include "inspect/kernels.h"
#include "inspect/resources.h"

namespace tiletune {
namespace spills_test {

/// N values that are all alive in a loop: with few registers, most of them are spilled.
const char* const kSource = R"cuda(
template <typename T, int N>
__device__ T mixed(T* a, int n) {
  T values[N];
  #pragma unroll
  for (int i = 0; i < N; ++i) values[i] = a[i * n];
  for (int j = 0; j < n; ++j)
    #pragma unroll
    for (int i = 0; i < N; ++i) values[i] += values[(i * 7) % N] * a[j];
  T sum = 0;
  #pragma unroll
  for (int i = 0; i < N; ++i) sum += values[i];
  return sum;
}
template <typename T, int N>
__global__ void inlined(T* a, int n) { a[threadIdx.x] = mixed<T, N>(a, n); }

template <int N>
__global__ void beside_array(float* a, const int* index, int n) {
  float array[24];
  for (int i = 0; i < 24; ++i) array[i] = a[i * 3];
  for (int j = 0; j < n; ++j) array[index[j]] += a[j];
  float sum = mixed<float, N>(a, n);
  for (int i = 0; i < 24; ++i) sum += array[index[i]];
  a[threadIdx.x] = sum;
}

__device__ __noinline__ float called(float* a, int n) { return mixed<float, 128>(a, n); }
extern "C" __global__ void __launch_bounds__(64, 16) calling(float* a, int n) { a[threadIdx.x] = called(a, n); }

extern "C" __global__ void array_only(float* c, const int* index, int n) {
  float values[100];
  for (int i = 0; i < 100; ++i) values[i] = c[i * n];
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += values[index[i]];
  c[threadIdx.x] = sum;
}
)cuda";

/// Bytes stored and bytes loaded.
using Figures = std::pair<std::int64_t, std::int64_t>;

Figures spills_of(const Binary& binary) {
  const Spills spills = read_spills(CubinElf(binary.cubin), binary.kernel_symbols[0]);
  return {spills.store_bytes, spills.load_bytes};
}

/// What ptxas says of one function of the module.
Figures from_log(const std::string& log, const std::string& function) {
  std::smatch match;
  const std::regex figures("Function properties for " + function +
                           "\n.* (\\d+) bytes spill stores, (\\d+) bytes spill loads");
  if (!std::regex_search(log, match, figures)) throw std::runtime_error("no " + function + " in " + log);
  return {std::stoll(match[1]), std::stoll(match[2])};
}

/// Every access to local memory.
Figures all_local(const Binary& binary) {
  Figures out;
  for (const SassInstruction& instruction : read_kernel_code(binary).instructions) {
    if (instruction.kind == SassKind::local_store) out.first += instruction.bytes;
    if (instruction.kind == SassKind::local_load) out.second += instruction.bytes;
  }
  return out;
}

/// Of an attribute of four bytes or more in .nv.info: where its value is.
std::size_t value_of_attribute(const std::string& cubin, char id, std::size_t from = 0) {
  const auto at = cubin.find(std::string{'\x04', id}, from);
  if (at == std::string::npos) throw std::runtime_error("no such attribute");
  return at + 4;
}

Binary spilling(const char* architecture = "sm_90a") {
  return compile_all_for_test(kSource, {"beside_array<96>"}, architecture, {"--maxrregcount=40"}).front();
}

TEST(Spills, EqualThoseOfPtxasWithEveryNumberOfRegisters) {
  const std::vector<std::string> kernels = {"inlined<float, 48>", "inlined<double, 24>", "beside_array<32>"};
  int with_spills = 0, without = 0;
  for (const char* architecture : {"sm_80", "sm_90a", "sm_120"}) {
    for (const char* registers : {"24", "32", "48", "255"}) {
      const auto module =
          compile_all_for_test(kSource, kernels, architecture, {std::string("--maxrregcount=") + registers});
      for (const LoggedBinary& binary : module) {
        const Figures expected = from_log(binary.log, binary.kernel_symbols[0]);
        EXPECT_EQ(spills_of(binary), expected)
            << binary.kernel_symbols[0] << ' ' << architecture << ' ' << registers;
        ++(expected == Figures{} ? without : with_spills);
      }
    }
  }
  EXPECT_GE(with_spills, 12);
  EXPECT_GE(without, 12);
}

TEST(Spills, OfFunctionsThatTheKernelCallsCount) {
  const LoggedBinary binary = compile_for_test(kSource, "calling", "sm_90a");
  EXPECT_EQ(from_log(binary.log, "calling"), Figures{}) << "ptxas counts them for the function alone";
  EXPECT_GT(spills_of(binary).first, 0);
  EXPECT_GT(spills_of(binary).second, 0);
}

TEST(Spills, OfCalledFunctionsInSectionsOfTheirOwnCount) {
  int major = 0, minor = 0;
  nvrtcVersion(&major, &minor);
  if (major < 13) GTEST_SKIP() << "this NVRTC compiles no function on its own";
  const auto module =
      compile_all_for_test(kSource, {"calling", "array_only"}, "sm_90a", {"--Ofast-compile=min"});
  const CubinElf elf(module[0].cubin);
  const ElfSection* callee = elf.section(".text._Z6calledPfi");
  ASSERT_NE(callee, nullptr);
  EXPECT_FALSE(elf.is_kernel(*callee));
  EXPECT_TRUE(elf.is_kernel(*elf.section(".text.calling")));
  EXPECT_GT(spills_of(module[0]).first, 0);
  EXPECT_GT(read_resources(module[0]).stack_bytes, 0);
}

TEST(Spills, OfOtherKernelsDoNotCount) {
  const auto module =
      compile_all_for_test(kSource, {"inlined<float, 96>", "array_only"}, "sm_90a", {"--maxrregcount=32"});
  EXPECT_GT(spills_of(module[0]).first, 0);
  EXPECT_EQ(spills_of(module[1]), Figures{});
  EXPECT_EQ(all_local(module[1]).first, 400);
}

TEST(Spills, WithoutMarksEveryAccessToLocalMemoryCounts) {
  for (const char* architecture : {"sm_80", "sm_90a", "sm_120"}) {
    Binary binary = spilling(architecture);
    EXPECT_LT(spills_of(binary).first, all_local(binary).first);
    constexpr char kCudaVersion = 0x37, kCuda12_5 = 125;
    binary.cubin[value_of_attribute(binary.cubin, kCudaVersion)] = kCuda12_5;
    EXPECT_EQ(spills_of(binary), all_local(binary)) << architecture;
  }
}

TEST(Spills, WithMarksOfAnotherKindEveryAccessToLocalMemoryCounts) {
  constexpr char kAnnotations = 0x55;
  Binary binary = spilling();
  binary.cubin[value_of_attribute(binary.cubin, kAnnotations, binary.cubin.find("\x04\x37"))] = 2;
  EXPECT_EQ(spills_of(binary), all_local(binary));
}

TEST(Spills, AMarkOutsideTheCodeIsRefused) {
  constexpr char kAnnotations = 0x55;
  Binary binary = spilling();
  binary.cubin[value_of_attribute(binary.cubin, kAnnotations, binary.cubin.find("\x04\x37")) + 7] = 1;
  try {
    spills_of(binary);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_TRUE(carries(error.message(), {"code"}));
  }
}

/// A kernel that accesses an array in local memory, and so often shared memory.
Binary with_shared_stores(int count) {
  std::string stores;
  for (int i = 0; i < count; ++i) stores += "*shared = n;\n";
  return compile_for_test(
      "extern \"C\" __global__ void k(int* a, int n) {\n"
      "  __shared__ int word; volatile int* shared = &word; int array[100];\n"
      "  for (int i = 0; i < 100; ++i) array[i] = a[i];\n" +
          stores + "  a[0] = array[n];\n}",
      "k", "sm_90a");
}

/// The size of the attribute that holds the marks has 16 bits: it would be 0 with 8192 of them.
TEST(Spills, WhereMarksMayBeCutOffEveryAccessToLocalMemoryCounts) {
  EXPECT_EQ(spills_of(with_shared_stores(8000)), Figures(0, 0));
  EXPECT_EQ(spills_of(with_shared_stores(8192)), Figures(400, 4));
}

}  // namespace spills_test
}  // namespace tiletune
