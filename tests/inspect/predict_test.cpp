#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "inspect/kernel_code.h"
#include "inspect/kernels.h"
#include "inspect/lanes.h"
#include "inspect/static_model.h"

namespace tiletune {
namespace predict_test {

/// Five steps of one ladder, for sizes that are multiples of the tiles.
const char* const kLadder = R"cuda(
template <bool COALESCED>
__global__ void __launch_bounds__(1024) one_per_thread(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * 32 + (COALESCED ? threadIdx.y : threadIdx.x);
  const int column = blockIdx.x * 32 + (COALESCED ? threadIdx.x : threadIdx.y);
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}

template <int PAD>
__global__ void __launch_bounds__(1024) tiled(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float a[32][32 + PAD], b[32][32];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += 32) {
    a[x][y] = A[row * K + k0 + x];  // transposed: without padding all lanes hit one bank
    b[y][x] = B[(k0 + y) * N + column];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += a[k][y] * b[k][x];
    __syncthreads();
  }
  C[row * N + column] = sum;
}

template <int T>
__global__ void __launch_bounds__(256) per_thread_tile(int M, int N, int K, const float* A, const float* B, float* C) {
  constexpr int W = 16 * T;
  __shared__ __align__(16) float a[8][W], b[8][W];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  A += blockIdx.y * W * K;
  B += blockIdx.x * W;
  float sum[T][T] = {};
  for (int k0 = 0; k0 < K; k0 += 8) {
    #pragma unroll
    for (int step = 0; step < 8 * W / 256; ++step) {
      const int i = threadIdx.x + step * 256;
      a[i % 8][i / 8] = A[i / 8 * K + k0 + i % 8];
      b[i / W][i % W] = B[(k0 + i / W) * N + i % W];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k)
#pragma unroll
      for (int i = 0; i < T; ++i)
#pragma unroll
        for (int j = 0; j < T; ++j) sum[i][j] += a[k][y * T + i] * b[k][x * T + j];
    __syncthreads();
  }
  for (int i = 0; i < T; ++i)
    for (int j = 0; j < T; ++j) C[(blockIdx.y * W + y * T + i) * N + blockIdx.x * W + x * T + j] = sum[i][j];
}
)cuda";

struct Step {
  const char* expression;
  Dim3 block;
  std::int64_t tile;
};

const std::vector<Step> kSteps = {{"one_per_thread<false>", {32, 32, 1}, 32},
                                  {"one_per_thread<true>", {32, 32, 1}, 32},
                                  {"tiled<1>", {32, 32, 1}, 32},
                                  {"per_thread_tile<4>", {256, 1, 1}, 64},
                                  {"per_thread_tile<8>", {256, 1, 1}, 128},
                                  {"tiled<0>", {32, 32, 1}, 32}};

ArgumentValue scalar(const char* name, std::int64_t value) {
  ArgumentValue argument;
  argument.kind = Argument::Kind::scalar;
  argument.name = name;
  argument.value = value;
  return argument;
}

Instance launch_of(const Step& step, std::int64_t size) {
  Instance instance;
  instance.launches.emplace_back();
  instance.launches[0].block = step.block;
  instance.launches[0].grid = {size / step.tile, size / step.tile, 1};
  for (const char* name : {"M", "N", "K"}) instance.launches[0].arguments.push_back(scalar(name, size));
  for (const char* name : {"A", "B", "C"}) {
    instance.launches[0].arguments.emplace_back();
    instance.launches[0].arguments.back().name = name;
  }
  return instance;
}

Workload gemm(std::int64_t size) {
  Workload workload;
  const auto n = static_cast<double>(size);
  workload.flops = 2 * n * n * n;
  workload.bytes = 12 * n * n;
  return workload;
}

const StaticModel& static_model() {
  static const StaticModel model = load_static_model(std::filesystem::path(TILETUNE_SOURCE_DIR) / "configs" /
                                                     "model" / "static_model.json");
  return model;
}

Prediction predict_for(const GpuModel& model, const Binary& binary, const Instance& instance,
                       const Workload& workload) {
  const Resources resources = read_resources(binary);
  const Occupancy occupancy =
      compute_occupancy(model, resources, static_cast<int>(instance.launches[0].block.count()),
                        instance.launches[0].dynamic_shared_bytes);
  return predict(model, static_model(), workload, instance, binary, {occupancy});
}

/// Of a kernel's hottest loop.
double fma_share(const Binary& binary) { return mix_of_loop(read_kernel_code(binary)).fma_share(); }

const std::vector<LoggedBinary>& ladder(const std::string& architecture) {
  static std::map<std::string, std::vector<LoggedBinary>> modules;
  std::vector<LoggedBinary>& module = modules[architecture];
  if (module.empty()) {
    std::vector<std::string> expressions;
    for (const Step& step : kSteps) expressions.emplace_back(step.expression);
    module = compile_all_for_test(kLadder, expressions, architecture);
  }
  return module;
}

class PredictTest : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  Prediction prediction(std::size_t step, std::int64_t size) const {
    const auto& [architecture, model] = GetParam();
    return predict_for(gpu(model), ladder(architecture)[step], launch_of(kSteps[step], size), gemm(size));
  }
};

/// Neighbouring lanes are K floats apart: without K they would count as neighbours.
TEST(PredictArguments, BehindATensorMapAreKnown) {
  const Binary binary = compile_for_test(R"cuda(
struct alignas(64) Map { unsigned long long opaque[16]; };
extern "C" __global__ void mapped(int M, const __grid_constant__ Map map, int N, int K, const float* A,
                                  const float* B, float* C) {
  const int row = blockIdx.y * 32 + threadIdx.x;
  const int column = blockIdx.x * 32 + threadIdx.y;
  float sum = map.opaque[0];
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M) C[row * N + column] = sum;
}
)cuda",
                                         "mapped", "sm_90a");
  Instance instance = launch_of(kSteps[0], 4096);
  ArgumentValue map;
  map.kind = Argument::Kind::tensor_map;
  map.name = "A";
  instance.launches[0].arguments.insert(instance.launches[0].arguments.begin() + 1, map);
  EXPECT_EQ(predict_for(gpu("H100"), binary, instance, gemm(4096)).bound_by, "L1 traffic");
}

TEST_P(PredictTest, EachStepOfTheLadderIsFasterAndNoneBeatsTheHardware) {
  const GpuModel& model = gpu(GetParam().second);
  double slower = 1e30;
  for (std::size_t step = 0; step < 5; ++step) {
    const Prediction now = prediction(step, 4096);
    SCOPED_TRACE(kSteps[step].expression + std::string(" bound by ") + now.bound_by);
    // Where a multiprocessor holds one block of 1024 threads, nothing hides the barriers of the third step.
    EXPECT_LT(now.time_us, (step == 2 ? 1.1 : 1.0) * slower);
    EXPECT_LT(gemm(4096).flops / now.time_us * 1e-6, model.fp32_peak_tflops());
    slower = now.time_us;
  }
}

TEST_P(PredictTest, UncoalescedLoadsCostManyTimesTheCoalescedOnes) {
  EXPECT_GT(prediction(0, 4096).time_us, 4 * prediction(1, 4096).time_us);
  EXPECT_EQ(prediction(0, 4096).bound_by, "L1 traffic");
}

TEST_P(PredictTest, BankConflictsCost) {
  EXPECT_GT(prediction(5, 4096).time_us, 1.2 * prediction(2, 4096).time_us);
}

TEST_P(PredictTest, TheShareOfMultiplyAddsGrowsWithTheThreadTile) {
  const std::vector<LoggedBinary>& kernels = ladder(GetParam().first);
  EXPECT_GT(fma_share(kernels[4]), fma_share(kernels[3]));
  EXPECT_GT(fma_share(kernels[3]), fma_share(kernels[2]));
  EXPECT_GT(fma_share(kernels[4]), 0.5);
}

TEST_P(PredictTest, OneBlockMoreThanFitsCostsAWholeRound) {
  const auto& [architecture, name] = GetParam();
  const GpuModel& model = gpu(name);
  const Binary& binary = ladder(architecture)[4];
  Instance instance = launch_of(kSteps[4], 4096);
  const auto time_of = [&](std::int64_t blocks) {
    instance.launches[0].grid = {blocks, 1, 1};
    Workload workload;
    workload.flops = 2.0 * 128 * 128 * 4096 * static_cast<double>(blocks);
    return predict_for(model, binary, instance, workload).time_us;
  };
  const std::int64_t sms = model.multiprocessors;
  EXPECT_DOUBLE_EQ(time_of(1), time_of(sms));
  EXPECT_GT(time_of(sms + 1), 1.05 * time_of(sms));
  EXPECT_DOUBLE_EQ(time_of(sms + 1), time_of(2 * sms));
}

TEST_P(PredictTest, AnEmptyProblemTakesALaunch) {
  const Prediction now = prediction(4, 128);
  EXPECT_GE(now.time_us, 2.5);
  EXPECT_LT(now.time_us, 60);
  EXPECT_LT(now.waves, 1);
}

INSTANTIATE_TEST_SUITE_P(Models, PredictTest,
                         testing::Values(std::pair{"sm_75", "T4"}, std::pair{"sm_80", "A100 40GB"},
                                         std::pair{"sm_86", "RTX 3090"}, std::pair{"sm_89", "L40S"},
                                         std::pair{"sm_90a", "H200"}, std::pair{"sm_100", "B200"}),
                         [](const auto& values) { return std::string(values.param.first); });

/// Products of `columns` columns and 32 bytes of K in a loop, of a warpgroup.
std::string warpgroup_loop(const std::string& types, int depth, int columns) {
  std::string sums, outputs;
  for (int i = 0; i < columns / 2; ++i) {
    sums += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    outputs += fmt::format("{}\"+f\"(sum[{}])", i == 0 ? "" : ", ", i);
  }
  const bool halves = depth == 16;
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(128) k(int K, unsigned long long a, float* C) {{\n"
      "  float sum[{0}] = {{}};\n"
      "  for (int k = 0; k < K; k += {1}) {{\n"
      "    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
      "    asm volatile(\"wgmma.mma_async.sync.aligned.m64n{2}k{1}.f32.{3} {{{4}}}, %{0}, %{0}, 1, 1, "
      "1{5};\"\n"
      "                 : {6} : \"l\"(a));\n"
      "    asm volatile(\"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\" ::: "
      "\"memory\");\n"
      "  }}\n"
      "  for (int i = 0; i < {0}; ++i) C[i * 128 + threadIdx.x] = sum[i];\n"
      "}}",
      columns / 2, depth, columns, types, sums, halves ? ", 0, 0" : "", outputs);
}

TEST(Predict, WarpgroupsReachWhatTensorCoresGiveToTheTypeAndNoMore) {
  struct Type {
    const char* names;
    int depth;
    double times;  ///< the rate of 16-bit floats
  };
  const GpuModel& h100 = gpu("H100");
  for (const auto& [names, depth, times] : {Type{"f16.f16", 16, 1}, Type{"bf16.bf16", 16, 1},
                                            Type{"tf32.tf32", 8, 0.5}, Type{"e4m3.e4m3", 32, 2}}) {
    const Binary binary = compile_for_test(warpgroup_loop(names, depth, 128), "k", "sm_90a");
    Instance instance;
    instance.launches.emplace_back();
    instance.launches[0].block = {128, 1, 1};
    instance.launches[0].grid = {h100.multiprocessors * 4, 1, 1};
    Workload workload;
    constexpr double kDepth = 1 << 20;
    workload.flops = 2.0 * 64 * 128 * kDepth * static_cast<double>(instance.launches[0].grid.x);
    const Prediction now = predict_for(h100, binary, instance, workload);
    const double peak = times * h100.tensor_flops_per_clock * h100.multiprocessors * h100.boost_clock_mhz;
    EXPECT_LE(workload.flops / now.time_us, peak) << names;
    EXPECT_GE(workload.flops / now.time_us, 0.9 * peak) << names;
    EXPECT_EQ(now.bound_by, "tensor cores") << names;
  }
}

TEST(Predict, AStreamingKernelIsBoundByDram) {
  const Binary binary = compile_for_test(
      "extern \"C\" __global__ void axpy(int n, float a, const float* x, float* y) {\n"
      "  const int i = blockIdx.x * 256 + threadIdx.x;\n"
      "  if (i < n) y[i] = a * x[i] + y[i];\n"
      "}",
      "axpy", "sm_90a");
  Instance instance;
  instance.launches.emplace_back();
  instance.launches[0].block = {256, 1, 1};
  instance.launches[0].grid = {1 << 20, 1, 1};
  Workload workload;
  workload.flops = 2.0 * 256 * (1 << 20);
  workload.bytes = 12.0 * 256 * (1 << 20);
  const Prediction now = predict_for(gpu("H200"), binary, instance, workload);
  EXPECT_EQ(now.bound_by, "DRAM traffic");
  const double at_peak_us = workload.bytes / 4.8e12 * 1e6;
  EXPECT_DOUBLE_EQ(now.terms.dram_us, at_peak_us);
  EXPECT_GT(now.time_us, at_peak_us);
  EXPECT_LT(now.time_us, 1.3 * at_peak_us);
}

/// One configuration of the ladder with tiles of 128, named as templates name them.
struct Tiled {
  Binary binary = ladder("sm_90a")[4];
  Instance instance = launch_of(kSteps[4], 1024);

  Tiled() {
    instance.parameters = {{"BM", std::int64_t{128}}, {"BN", std::int64_t{128}}, {"BK", std::int64_t{8}}};
  }
  LaunchTerms terms(std::int64_t size) const {
    return predict_for(gpu("H200"), binary, instance, gemm(size)).terms;
  }
};

TEST(Predict, TilesThatStickOutAreComputedInFull) {
  Tiled tiled;
  const double exact = tiled.terms(1024).turns;
  EXPECT_DOUBLE_EQ(exact, 1024 / 8);
  for (ArgumentValue& argument : tiled.instance.launches[0].arguments) {
    if (argument.name == "M" || argument.name == "N" || argument.name == "K")
      argument.value = std::int64_t{1021};
  }
  EXPECT_DOUBLE_EQ(tiled.terms(1021).turns, exact) << "the blocks do not notice";
}

TEST(Predict, BlocksThatShareATileTakeFewerTurnsAndMeetInAWorkspace) {
  Tiled tiled;
  const LaunchTerms whole = tiled.terms(1024);
  EXPECT_EQ(whole.meetings, 0);
  EXPECT_GT(whole.outside_bytes, 0) << "C is stored";
  tiled.instance.launches[0].grid.z = 4;
  tiled.instance.workspace.push_back({"tickets", ElementType::u32, 0, true});
  EXPECT_EQ(tiled.terms(1024).meetings, 0) << "a workspace without elements";
  tiled.instance.workspace.back().elements = 64;
  const LaunchTerms split = tiled.terms(1024);
  EXPECT_DOUBLE_EQ(split.turns, whole.turns / 4);
  EXPECT_EQ(split.meetings, 1);
  EXPECT_EQ(split.clusters, 0);
  tiled.instance.launches[0].grid = {32, 1, 1};
  EXPECT_DOUBLE_EQ(tiled.terms(1024).turns, whole.turns * 2)
      << "blocks that take two tiles one after the other";
}

TEST(Predict, DamagedCodeIsAUserErrorOrAPredictionNeverACrash) {
  const Binary good = ladder("sm_90a")[3];
  const Instance instance = launch_of(kSteps[3], 1024);
  const Resources resources = read_resources(good);
  const Occupancy occupancy = compute_occupancy(gpu("H200"), resources, 256, 0);
  std::uint32_t state = 1;
  for (int round = 0; round < 300; ++round) {
    Binary bad = good;
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525 + 1013904223;
      bad.cubin[state % bad.cubin.size()] ^= static_cast<char>(1 << (state >> 29));
    }
    try {
      EXPECT_GT(predict(gpu("H200"), {}, gemm(1024), instance, bad, {occupancy}).time_us, 0);
    } catch (const UserError&) {
    }
  }
}

LaneValues lanes(std::int64_t stride) {
  LaneValues values;
  values.kind = LaneValues::Kind::relative;
  for (std::int64_t lane = 0; lane < 32; ++lane)
    values.value[static_cast<std::size_t>(lane)] = 1000 + lane * stride;
  return values;
}

TEST(Lanes, LinesAndSectorsTouched) {
  EXPECT_EQ(pieces_touched(lanes(0), 4, 128), 1);
  EXPECT_EQ(pieces_touched(lanes(4), 4, 128), 1);
  EXPECT_EQ(pieces_touched(lanes(4), 4, 32), 4);
  EXPECT_EQ(pieces_touched(lanes(16), 16, 128), 4);
  EXPECT_EQ(pieces_touched(lanes(4096), 4, 128), 32);
  EXPECT_EQ(pieces_touched(lanes(-4096), 4, 32), 32);
}

TEST(Lanes, BankConflicts) {
  EXPECT_EQ(bank_wavefronts(lanes(0), 4), 1);
  EXPECT_EQ(bank_wavefronts(lanes(4), 4), 1);
  EXPECT_EQ(bank_wavefronts(lanes(8), 4), 2);
  EXPECT_EQ(bank_wavefronts(lanes(128), 4), 32);
  EXPECT_EQ(bank_wavefronts(lanes(132), 4), 1);
  EXPECT_EQ(bank_wavefronts(lanes(8), 8), 2);
  EXPECT_EQ(bank_wavefronts(lanes(16), 16), 4);
  EXPECT_EQ(bank_wavefronts(lanes(512), 16), 32);
}

}  // namespace predict_test
}  // namespace tiletune
