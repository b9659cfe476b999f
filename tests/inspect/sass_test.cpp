#include "inspect/sass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "inspect/elf.h"
#include "inspect/kernel_code.h"
#include "inspect/kernels.h"

namespace tiletune {
namespace sass_test {

struct Disassembled {
  Binary binary;
  std::vector<SassInstruction> code;
};

Disassembled disassemble(const std::string& source, const std::string& expression,
                         const std::string& architecture) {
  Disassembled out{compile_for_test(source, expression, architecture), {}};
  const CubinElf elf(out.binary.cubin);
  out.code = decode_sass(elf.section(".text." + out.binary.kernel_symbols[0])->bytes, elf.architecture());
  return out;
}

int count(const std::vector<SassInstruction>& code, SassKind kind, int bytes = 0) {
  return static_cast<int>(std::count_if(code.begin(), code.end(), [&](const SassInstruction& instruction) {
    return instruction.kind == kind && (bytes == 0 || instruction.bytes == bytes);
  }));
}

/// What a launch leaves in them, the next one finds.
TEST(Variables, AreThoseInDeviceMemory) {
  const char* const source = R"cuda(
__device__ float kept[100];
static __device__ int begun = 3;
__constant__ float factor[4];
extern "C" __global__ void k(float* c) {
  static __device__ unsigned turns;
  __shared__ float shared[32];
  shared[threadIdx.x] = kept[threadIdx.x] * factor[begun % 4];
  __syncthreads();
  c[threadIdx.x] = kept[threadIdx.x + 1] = shared[31 - threadIdx.x] + atomicAdd(&turns, 1u);
  begun = turns;
}
)cuda";
  const Binary binary = compile_for_test(source, "k", "sm_90");
  std::vector<std::string> names;
  for (const ElfVariable& variable : CubinElf(binary.cubin).variables(kDeviceMemory))
    names.emplace_back(variable.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"_ZZ1kE5turns", "begun", "kept"}));
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

TEST_P(SassTest, ALoopThatOnlyCopiesIsTakenToTurnOnce) {
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
  EXPECT_EQ(stores, 1);
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

/// What the tests below put into a kernel on its own: one instruction and what it needs.
struct OneInstruction {
  const char* name;
  const char* statement;
  SassKind kind;
};

const char* const kAround = R"cuda(
struct alignas(64) Map { char bytes[128]; };
extern "C" __global__ void k(const __grid_constant__ Map map, float* c, int n, unsigned short mask) {
  __shared__ alignas(128) char s[1024];
  const unsigned to = __cvta_generic_to_shared(s) + threadIdx.x * 16;
  const unsigned base = __cvta_generic_to_shared(s);
  unsigned remote, r0 = n, r1 = n + 1, r2 = n * 3, r3 = n * 5;
  float f0 = n, f1 = c[0], f2 = c[1], f3 = c[2];
  double d = n;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(base), "r"(n));
  STATEMENT
  c[threadIdx.x] = f0 + f1 + f2 + f3 + r0 + r1 + r2 + r3 + float(d) + remote;
})cuda";

// clang-format off
const OneInstruction kInstructions[] = {
    {"UTMALDG", R"(asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%0];" ::"r"(base), "l"(&map), "r"(n) : "memory");)", SassKind::bulk_load},
    {"UTMALDG.MULTICAST", R"(asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %2}], [%0], %3;" ::"r"(base), "l"(&map), "r"(n), "h"(mask) : "memory");)", SassKind::bulk_load},
    {"UTMASTG", R"(asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%1, {%2, %2}], [%0];" ::"r"(base), "l"(&map), "r"(n) : "memory");)", SassKind::bulk_store},
    {"UBLKCP in", R"(asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%0];" ::"r"(base), "l"(__cvta_generic_to_global(c)) : "memory");)", SassKind::bulk_load},
    {"UBLKCP out", R"(asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%1], [%0], 512;" ::"r"(base), "l"(__cvta_generic_to_global(c)) : "memory");)", SassKind::bulk_store},
    {"SYNCS", R"(asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(base) : "memory");)", SassKind::mbarrier},
    {"UCGABAR", R"(asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;" ::: "memory");)", SassKind::cluster_barrier},
    {"LD of a neighbour", R"(asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(f0) : "r"(remote));)", SassKind::global_load},
    {"RED", R"(asm volatile("red.global.add.f32 [%0], %1;" ::"l"(__cvta_generic_to_global(c)), "f"(f1) : "memory");)", SassKind::global_reduction},
    {"ATOMS", R"(asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(r0) : "r"(base), "r"(n));)", SassKind::shared_atomic},
    {"LDSM", R"(asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(to));)", SassKind::shared_load},
    {"HFMA2", R"(asm volatile("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r0) : "r"(r1), "r"(r2), "r"(r3));)", SassKind::half_math},
    {"HMMA", R"(asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%4, %5}, {%0, %1, %2, %3};" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));)", SassKind::tensor},
    {"HGMMA", R"(asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "l"((unsigned long long)n));)", SassKind::tensor_async},
    {"DFMA", R"(asm volatile("fma.rn.f64 %0, %0, %0, %0;" : "+d"(d));)", SassKind::double_math},
    {"F2FP", R"(asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r0) : "f"(f1), "f"(f2));)", SassKind::conversion},
};
// clang-format on

std::vector<SassInstruction> with_statement(const std::string& statement) {
  std::string source = kAround;
  const std::string place = "STATEMENT";
  source.replace(source.find(place), place.size(), statement);
  return disassemble(source, "k", "sm_90a").code;
}

TEST(Sass, EachInstructionOfHopperAddsOneOfItsKind) {
  const auto without = with_statement("");
  for (const OneInstruction& one : kInstructions) {
    EXPECT_GT(count(with_statement(one.statement), one.kind), count(without, one.kind)) << one.name;
  }
}

TEST(Sass, FlopsOfMatrixInstructionsAreThoseOfTheirShape) {
  const auto flops = [](std::string_view name) {
    const auto found = std::find_if(std::begin(kInstructions), std::end(kInstructions),
                                    [&](const OneInstruction& one) { return one.name == name; });
    double sum = 0;
    for (const SassInstruction& instruction : with_statement(found->statement)) {
      if (instruction.kind == found->kind) sum += instruction.flops;
    }
    return sum;
  };
  EXPECT_EQ(flops("HMMA"), 2.0 * 16 * 8 * 16);
  EXPECT_EQ(flops("HGMMA"), 2.0 * 64 * 8 * 16 / 4);
  EXPECT_EQ(flops("HFMA2"), 4 * 32);
}

/// A matrix instruction of one architecture.
struct MatrixInstruction {
  const char* name;
  const char* architecture;
  const char* statement;
  double flops;  ///< 0: the code does not tell
  int element_bits;
};

// clang-format off
const MatrixInstruction kMatrixInstructions[] = {
    {"HMMA m8n8k4", "sm_75", R"(asm volatile("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3};" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));)", 4 * 2.0 * 8 * 8 * 4, 16},
    {"HMMA of TF32", "sm_80", R"(asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%4, %5}, {%0, %1, %2, %3};" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));)", 2.0 * 16 * 8 * 8, 32},
    {"HMMA of BF16", "sm_90a", R"(asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%4}, {%0, %1, %2, %3};" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(r0), "r"(r1));)", 2.0 * 16 * 8 * 8, 16},
    {"HGMMA of TF32", "sm_90a", R"(asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %4, 1, 1, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "l"(n));)", 2.0 * 64 * 8 * 8 / 4, 32},
    {"BMMA", "sm_80", R"(asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%4, %5}, {%0, %1, %2, %3};" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));)", 2.0 * 16 * 8 * 256, 1},
    {"QMMA", "sm_89", R"(asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%4, %5}, {%0, %1, %2, %3};" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));)", 2.0 * 16 * 8 * 32, 8},
    {"QMMA", "sm_120a", R"(asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%4, %5}, {%0, %1, %2, %3};" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));)", 2.0 * 16 * 8 * 32, 8},
    {"OMMA", "sm_120a", R"(asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%4, %5}, {%0, %1, %2, %3}, {%4}, {0, 0}, {%5}, {0, 0};" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));)", 2.0 * 16 * 8 * 64, 4},
    {"QGMMA", "sm_90a", R"(asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, %4, %4, 1, 1, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "l"(n));)", 2.0 * 64 * 8 * 32 / 4, 8},
    {"BGMMA", "sm_90a", R"(asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%0, %1, %2, %3}, %4, %4, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "l"(n));)", 2.0 * 64 * 8 * 256 / 4, 1},
    {"UTCHMMA", "sm_100a", R"(asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %1, %2, p;}" :: "r"(r0), "l"(n), "r"(r1));)", 0, 16},
    {"UTCQMMA", "sm_100a", R"(asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; tcgen05.mma.cta_group::2.kind::f8f6f4 [%0], %1, %1, %2, p;}" :: "r"(r0), "l"(n), "r"(r1));)", 0, 16},
    {"UTCIMMA", "sm_100a", R"(asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; tcgen05.mma.cta_group::1.kind::i8 [%0], [%3], %1, %2, p;}" :: "r"(r0), "l"(n), "r"(r1), "r"(r2));)", 0, 16},
    {"UTCOMMA", "sm_100a", R"(asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32 [%0], %1, %1, %2, [%3], [%3], p;}" :: "r"(r0), "l"(n), "r"(r1), "r"(r2));)", 0, 16},
};
// clang-format on

/// FP32 additions and a statement, in the kernel or in a function that it calls.
std::string kernel_around(const std::string& statement, bool in_function) {
  const std::string work = R"cuda(
  float f0 = out[0], f1 = out[1], f2 = out[2], f3 = out[3];
  unsigned r0 = in[0], r1 = in[1], r2 = in[2], r3 = in[3];
  int i0 = r0, i1 = r1, i2 = r2, i3 = r3;
  )cuda" + statement + R"cuda(
  out[0] = f0 + f1;
  out[1] = f2 + f3;
  in[0] = i0 + i1 + i2 + i3;
)cuda";
  const std::string parameters = "(float* out, unsigned* in, unsigned long long n) {\n";
  if (!in_function) return "extern \"C\" __global__ void k" + parameters + work + "}";
  return "__device__ __noinline__ void called" + parameters + work + "}\nextern \"C\" __global__ void k" +
         parameters + "called(out, in, n);\nout[2] += 1.5f; }";
}

TEST(Sass, MatrixInstructionsOfEveryArchitectureAreKnown) {
  for (const MatrixInstruction& one : kMatrixInstructions) {
    const auto code = disassemble(kernel_around(one.statement, false), "k", one.architecture).code;
    EXPECT_EQ(count(disassemble(kernel_around("", false), "k", one.architecture).code, SassKind::tensor), 0);
    EXPECT_GT(count(code, SassKind::tensor) + count(code, SassKind::tensor_async), 0) << one.name;
    double flops = 0;
    for (const SassInstruction& instruction : code) {
      const bool matrix = instruction.kind == SassKind::tensor || instruction.kind == SassKind::tensor_async;
      if (!matrix) continue;
      flops += instruction.flops;
      EXPECT_EQ(instruction.element_bits, one.element_bits) << one.name;
    }
    EXPECT_EQ(flops, one.flops) << one.name;
  }
}

TEST(KernelCode, ToCalculateInFp32AloneTakesFp32AndNoMatrixInstructionAnywhere) {
  const auto alone = [](const std::string& source, const char* architecture) {
    return arithmetic_of(compile_for_test(source, "k", architecture)) == Arithmetic::fp32;
  };
  for (const std::string& architecture : kArchitectures) {
    EXPECT_TRUE(alone(kernel_around("", false), architecture.c_str())) << architecture;
    EXPECT_TRUE(alone(kernel_around("", true), architecture.c_str())) << architecture;
    EXPECT_FALSE(alone("extern \"C\" __global__ void k(int* out) { *out += 3; }", architecture.c_str()));
  }
  for (const MatrixInstruction& one : kMatrixInstructions) {
    EXPECT_EQ(arithmetic_of(compile_for_test(kernel_around(one.statement, false), "k", one.architecture)),
              Arithmetic::tensor)
        << one.name;
    // Those of groups must stand in the kernel itself.
    const bool of_group = one.flops == 0 || std::string_view(one.architecture) == "sm_90a";
    if (of_group) continue;
    EXPECT_FALSE(alone(kernel_around(one.statement, true), one.architecture)) << one.name;
  }
  EXPECT_EQ(arithmetic_of({}), Arithmetic::unknown) << "a damaged cubin";
}

/// Blocks that stay and take tile after tile: a loop over k in a loop over tiles that stores.
const char* const kPersistent = R"cuda(
extern "C" __global__ void k(const float* a, const float* b, float* c, int tiles, int n) {
  __shared__ float sa[256], sb[256];
  #pragma unroll 1
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float x = 0;
    #pragma unroll 1
    for (int k = 0; k < n; ++k) {
      sa[threadIdx.x] = a[(tile * n + k) * 256 + threadIdx.x];
      sb[threadIdx.x] = b[(tile * n + k) * 256 + threadIdx.x];
      __syncthreads();
      #pragma unroll
      for (int i = 0; i < 16; ++i) x = fmaf(sa[threadIdx.x ^ i], sb[threadIdx.x / 2 + i], x);
      __syncthreads();
    }
    c[tile * 256 + threadIdx.x] = 0.5f * x + 1.5f * c[tile * 256 + threadIdx.x];
  }
})cuda";

TEST_P(SassTest, OfAPersistentKernelTheLoopOverKIsHot) {
  const auto code = disassemble(kPersistent, "k", GetParam()).code;
  const HotLoop loop = find_hot_loop(code);
  ASSERT_TRUE(loop.is_loop);
  std::map<SassKind, double> counts;
  for (const auto& item : loop.instructions) counts[code[item.index].kind] += item.weight;
  EXPECT_EQ(counts[SassKind::fma], 16);
  EXPECT_EQ(counts[SassKind::barrier], 2);
  EXPECT_EQ(counts[SassKind::global_load], 2);
  EXPECT_EQ(counts[SassKind::global_store], 0);
}

/// As pipelines have it: a loop over k that loads the next tile, one for the last tiles that loads nothing,
/// and a start before them, in a loop over tiles.
const char* const kWithDrain = R"cuda(
extern "C" __global__ void k(const float* a, float* c, int tiles, int n) {
  __shared__ float s[2][256];
  #pragma unroll 1
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float x = 0, y = a[threadIdx.x % 5];
    float next = a[tile * 256 + threadIdx.x];
    #pragma unroll 1
    for (int k = 1; k < n; ++k) {
      s[k % 2][threadIdx.x] = next;
      next = a[(tile * n + k) * 256 + threadIdx.x];
      __syncthreads();
      #pragma unroll
      for (int i = 0; i < 16; ++i) x = fmaf(s[k % 2][threadIdx.x ^ i], y, x);
    }
    #pragma unroll 1
    for (int k = 0; k < 3; ++k) {
      #pragma unroll
      for (int i = 0; i < 16; ++i) y = fmaf(s[k % 2][threadIdx.x ^ i], x, y);
    }
    c[tile * 256 + threadIdx.x] = x + y + next;
  }
})cuda";

TEST_P(SassTest, OfTwoLoopsWithAsMuchArithmeticTheOneThatLoadsIsHot) {
  const auto code = disassemble(kWithDrain, "k", GetParam()).code;
  const HotLoop loop = find_hot_loop(code);
  std::map<SassKind, double> counts;
  for (const auto& item : loop.instructions) counts[code[item.index].kind] += item.weight;
  EXPECT_EQ(counts[SassKind::fma], 16);
  EXPECT_EQ(counts[SassKind::global_load], 1);
  EXPECT_EQ(counts[SassKind::barrier], 1);
  EXPECT_EQ(counts[SassKind::global_store], 0);
}

/// One warp loads tiles, the others multiply them.
const char* const kSpecialised = R"cuda(
extern "C" __global__ void k(const float4* a, float* c, int n) {
  __shared__ alignas(128) float4 tile[2][64];
  __shared__ alignas(8) unsigned long long full[2], empty[2];
  const unsigned to = __cvta_generic_to_shared(tile), is_full = __cvta_generic_to_shared(full),
                 is_empty = __cvta_generic_to_shared(empty);
  if (threadIdx.x >= 256) {
    #pragma unroll 1
    for (int k = 0; k < n; ++k) {
      asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W;}" ::"r"(is_empty) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];"
                   ::"r"(to), "l"(a + 64 * k), "r"(is_full) : "memory");
    }
    return;
  }
  float x = 0;
  #pragma unroll 1
  for (int k = 0; k < n; ++k) {
    asm volatile("{.reg .pred p; V: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra V;}" ::"r"(is_full) : "memory");
    const float4 q = tile[k % 2][threadIdx.x % 64];
    x = fmaf(q.x, q.y, x); x = fmaf(q.z, q.w, x); x = fmaf(q.x, q.z, x); x = fmaf(q.y, q.w, x);
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(is_empty) : "memory");
  }
  c[threadIdx.x] = x;
})cuda";

TEST(Sass, OfASpecialisedKernelTheLoopThatMultipliesIsHot) {
  const auto code = disassemble(kSpecialised, "k", "sm_90a").code;
  const HotLoop loop = find_hot_loop(code);
  ASSERT_TRUE(loop.is_loop);
  EXPECT_TRUE(loop.fed_by_other_warps);
  std::map<SassKind, double> counts;
  for (const auto& item : loop.instructions) counts[code[item.index].kind] += item.weight;
  EXPECT_EQ(counts[SassKind::fma], 4) << "the loop that waits is not taken to turn often";
  EXPECT_EQ(counts[SassKind::shared_load], 1);
  EXPECT_EQ(counts[SassKind::bulk_load], 0);
  EXPECT_GE(counts[SassKind::mbarrier], 2);
  EXPECT_FALSE(find_hot_loop(disassemble(kPersistent, "k", "sm_90a").code).fed_by_other_warps);
}

TEST_P(SassTest, TheMixOfTheLoopAndOfTheWholeKernel) {
  const Binary binary = compile_for_test(kPersistent, "k", GetParam());
  const KernelCode code = read_kernel_code(binary);
  const InstructionMix loop = mix_of_loop(code), kernel = mix_of_kernel(code);
  EXPECT_EQ(loop.fma, 16);
  EXPECT_EQ(loop.global_loads.by_4, 2);
  EXPECT_EQ(loop.shared_stores.by_4, 2);
  EXPECT_EQ(loop.barriers, 2);
  EXPECT_EQ(loop.spill_loads + loop.spill_stores, 0);
  EXPECT_EQ(loop.global_stores.count(), 0);
  EXPECT_GE(kernel.global_stores.by_4, 1);
  EXPECT_GE(loop.stall_clocks, loop.instructions);
  EXPECT_LT(loop.code_bytes, kernel.code_bytes);
  EXPECT_GT(loop.fma_share(), kernel.fma_share());
  EXPECT_DOUBLE_EQ(loop.per_fma(loop.global_loads.count()), 0.125);
}

TEST(Sass, SpillsAreCounted) {
  const Binary binary = compile_for_test(R"cuda(
extern "C" __global__ void k(const float* a, float* c, int n) {
  float x[64];
  for (int i = 0; i < 64; ++i) x[i] = a[i];
  for (int k = 0; k < n; ++k) x[(k * 7) & 63] = fmaf(x[k & 63], a[k], 1.0f);
  for (int i = 0; i < 64; ++i) c[i] = x[i];
})cuda",
                                         "k", "sm_90a");
  const InstructionMix mix = mix_of_kernel(read_kernel_code(binary));
  EXPECT_GT(mix.spill_loads, 0);
  EXPECT_GT(mix.spill_stores, 0);
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

}  // namespace sass_test
}  // namespace tiletune
