#include "inspect/sass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "inspect/elf.h"
#include "inspect/hot_loop.h"
#include "inspect/kernels.h"

namespace tiletune {
namespace {

struct Disassembled {
  Binary binary;
  std::vector<SassInstruction> code;
};

Disassembled disassemble(const std::string& source, const std::string& expression,
                         const std::string& architecture) {
  Disassembled out{compile_for_test(source, expression, architecture), {}};
  const CubinElf elf(out.binary.cubin);
  out.code = decode_sass(elf.section(".text." + out.binary.kernel_symbol)->bytes, elf.architecture());
  return out;
}

int count(const std::vector<SassInstruction>& code, SassKind kind, int bytes = 0) {
  return static_cast<int>(std::count_if(code.begin(), code.end(), [&](const SassInstruction& instruction) {
    return instruction.kind == kind && (bytes == 0 || instruction.bytes == bytes);
  }));
}

class SassTest : public testing::TestWithParam<std::string> {};

TEST_P(SassTest, CountsArithmeticAndAccessesWithTheirWidths) {
  const char* const source = R"cuda(
extern "C" __global__ void k(const float4* a, const float2* b, const float* d, float4* c) {
  __shared__ float4 quads[64];
  __shared__ float2 pairs[64];
  const int i = threadIdx.x;
  quads[i] = a[i];
  pairs[i] = b[i];
  __syncthreads();
  const float4 q = quads[63 - i];
  const float2 p = pairs[63 - i];
  const float s = d[i];
  c[i] = make_float4(fmaf(q.x, p.x, s), fmaf(q.y, p.y, s), fmaf(q.z, s, p.x), fmaf(q.w, s, p.y));
})cuda";
  const auto code = disassemble(source, "k", GetParam()).code;
  const int pairs = count(code, SassKind::fma_pair);
  EXPECT_EQ(count(code, SassKind::fma) + 2 * pairs, 4);
  EXPECT_EQ(count(code, SassKind::global_load, 16), 1);
  EXPECT_EQ(count(code, SassKind::global_load, 8), 1);
  EXPECT_EQ(count(code, SassKind::global_load, 4), 1);
  EXPECT_EQ(count(code, SassKind::global_store, 16), 1);
  EXPECT_EQ(count(code, SassKind::shared_store, 16), 1);
  EXPECT_EQ(count(code, SassKind::shared_store, 8), 1);
  EXPECT_EQ(count(code, SassKind::shared_load, 16), 1);
  EXPECT_EQ(count(code, SassKind::shared_load, 8), 1);
  EXPECT_EQ(count(code, SassKind::barrier), 1);
  EXPECT_GE(count(code, SassKind::exit), 1);
}

TEST_P(SassTest, EveryBranchLandsInTheKernelAndTheLastOneOnItself) {
  const char* const source = R"cuda(
extern "C" __global__ void k(const float* a, float* c, int n, int m) {
  for (int i = 0; i < n; ++i) {
    if (a[i] > 3) { float x = 0; for (int j = 0; j < m; ++j) x += a[i * j] * a[j]; c[i] = x; }
    else if (a[i] < -5) { c[i * 2] = sqrtf(a[i]) / a[i + 1]; __syncthreads(); }
  }
})cuda";
  const auto code = disassemble(source, "k", GetParam()).code;
  int backward = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].kind != SassKind::branch) continue;
    ASSERT_TRUE(code[i].target) << i;
    if (*code[i].target < static_cast<std::int64_t>(i)) ++backward;
    if (!code[i].conditional && *code[i].target == static_cast<std::int64_t>(i)) last = i;
  }
  EXPECT_GE(backward, 2);
  EXPECT_GT(last, code.size() / 2);
}

/// An outer loop over k with an inner product that is not unrolled, then a remainder-like loop with less
/// arithmetic.
const char* const kNested = R"cuda(
extern "C" __global__ void k(const float* a, const float* b, float* c, int n, int m) {
  __shared__ float tile[256];
  float x = 0, y = 1;
  #pragma unroll 1
  for (int i = 0; i < n; ++i) {
    tile[threadIdx.x] = a[i * 256 + threadIdx.x];
    __syncthreads();
    #pragma unroll 1
    for (int j = 0; j < m; ++j) { x = fmaf(tile[j], b[j], x); y = fmaf(y, tile[j], x); }
    __syncthreads();
  }
  #pragma unroll 1
  for (int j = 0; j < m; ++j) x = x * b[j + n] + y;
  c[threadIdx.x] = x;
})cuda";

TEST_P(SassTest, TheHotLoopIsTheNestWithMostArithmeticWeightedByDepth) {
  const auto code = disassemble(kNested, "k", GetParam()).code;
  const HotLoop loop = find_hot_loop(code);
  ASSERT_TRUE(loop.is_loop);
  double fma = 0, barriers = 0, stores = 0;
  for (const auto& item : loop.instructions) {
    if (code[item.index].kind == SassKind::fma) fma += item.weight;
    if (code[item.index].kind == SassKind::barrier) barriers += item.weight;
    if (code[item.index].kind == SassKind::shared_store) stores += item.weight;
  }
  EXPECT_EQ(fma, 2 * kAssumedTurns);
  EXPECT_EQ(barriers, 2);
  EXPECT_EQ(stores, 1);
}

TEST_P(SassTest, ALoopThatOnlyCopiesIsTakenToTurnLessOften) {
  const char* const source = R"cuda(
extern "C" __global__ void k(const float* a, float* c, int n, int m) {
  __shared__ float tile[1024];
  float x = 0;
  #pragma unroll 1
  for (int i = 0; i < n; ++i) {
    #pragma unroll 1
    for (int j = threadIdx.x; j < m; j += 256) tile[j] = a[i * m + j];
    __syncthreads();
    x = fmaf(tile[threadIdx.x ^ 1], tile[threadIdx.x ^ 2], x);
    __syncthreads();
  }
  c[threadIdx.x] = x;
})cuda";
  const auto code = disassemble(source, "k", GetParam()).code;
  const HotLoop loop = find_hot_loop(code);
  double fma = 0, stores = 0;
  for (const auto& item : loop.instructions) {
    if (code[item.index].kind == SassKind::fma) fma += item.weight;
    if (code[item.index].kind == SassKind::shared_store) stores += item.weight;
  }
  EXPECT_EQ(fma, 1);
  EXPECT_EQ(stores, kAssumedCopyTurns);
}

TEST_P(SassTest, WithoutALoopTheWholeKernelIsHot) {
  const auto code =
      disassemble("extern \"C\" __global__ void k(float* c, float a) { *c = fmaf(a, *c, 1.5f); }", "k",
                  GetParam())
          .code;
  const HotLoop loop = find_hot_loop(code);
  EXPECT_FALSE(loop.is_loop);
  EXPECT_EQ(static_cast<int>(loop.instructions.size()),
            static_cast<int>(code.size()) - count(code, SassKind::nothing));
}

INSTANTIATE_TEST_SUITE_P(Architectures, SassTest, testing::ValuesIn(kArchitectures),
                         [](const auto& name) { return name.param; });

TEST(Sass, AsynchronousCopiesAndWhatTheyWaitFor) {
  const char* const source = R"cuda(
extern "C" __global__ void k(const float4* a, float4* c) {
  __shared__ float4 s[64];
  const unsigned to = __cvta_generic_to_shared(&s[threadIdx.x]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(a + threadIdx.x));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(a + threadIdx.x + 64));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 1;");
  __syncthreads();
  c[threadIdx.x] = s[63 - threadIdx.x];
  asm volatile("cp.async.wait_group 0;");
})cuda";
  for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100"}) {
    const auto code = disassemble(source, "k", architecture).code;
    EXPECT_EQ(count(code, SassKind::async_copy, 16), 1) << architecture;
    EXPECT_EQ(count(code, SassKind::async_copy, 4), 1) << architecture;
    std::vector<int> pending;
    for (const auto& instruction : code) {
      if (instruction.kind == SassKind::async_wait) pending.push_back(instruction.pending);
    }
    EXPECT_EQ(pending, (std::vector<int>{1, 0})) << architecture;
  }
}

TEST(Sass, RandomBytesDecodeToSomething) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random() % 4000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    // Many branches, so that loops overlap in every way.
    for (std::size_t i = 0; i + 16 <= bytes.size(); i += 32) {
      bytes[i] = 0x47;
      bytes[i + 1] = 0x79;
    }
    for (const int architecture : {80, 90}) {
      const auto code = decode_sass(bytes, architecture);
      EXPECT_EQ(code.size(), bytes.size() / 16);
      const HotLoop loop = find_hot_loop(code);
      EXPECT_LE(loop.instructions.size(), code.size());
    }
  }
}

}  // namespace
}  // namespace tiletune
