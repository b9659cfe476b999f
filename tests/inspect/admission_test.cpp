#include <gtest/gtest.h>

#include "base/outcome.h"
#include "carries.h"
#include "inspect/kernels.h"
#include "inspect/occupancy.h"

namespace tiletune {
namespace admission_test {

Instance launch(Dim3 grid, Dim3 block, std::int64_t dynamic_shared_bytes = 0) {
  Instance instance;
  instance.launches.emplace_back();
  instance.launches[0].grid = grid;
  instance.launches[0].block = block;
  instance.launches[0].dynamic_shared_bytes = dynamic_shared_bytes;
  return instance;
}

std::string launch_reason(const Instance& instance, const char* model = "H100") {
  const Admission admission = admit_launch(gpu(model), instance);
  EXPECT_EQ(admission.admitted, admission.reason.empty());
  return admission.admitted ? "admitted" : admission.reason;
}

TEST(AdmitLaunch, BlocksUpToTheLimits) {
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {1024, 1, 1})), "admitted");
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {1, 1024, 1})), "admitted");
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {16, 1, 64})), "admitted");
  EXPECT_TRUE(carries(launch_reason(launch({1, 1, 1}, {1025, 1, 1})), {"block.x", "1025", "1", "1024"}));
  EXPECT_TRUE(carries(launch_reason(launch({1, 1, 1}, {1, 1025, 1})), {"block.y", "1025", "1", "1024"}));
  EXPECT_TRUE(carries(launch_reason(launch({1, 1, 1}, {1, 1, 65})), {"block.z", "65", "1", "64"}));
  EXPECT_TRUE(carries(launch_reason(launch({1, 1, 1}, {0, 1, 1})), {"block.x", "0", "1", "1024"}));
  EXPECT_TRUE(
      carries(launch_reason(launch({1, 1, 1}, {33, 32, 1})), {"33 x 32 x 1 = 1056", "1024", "H100 SXM"}));
  EXPECT_TRUE(carries(launch_reason(launch({1, 1, 1}, {INT64_MAX, INT64_MAX, 2})),
                      {"block.x", "9223372036854775807", "1", "1024"}));
}

TEST(AdmitLaunch, GridsUpToTheLimits) {
  EXPECT_EQ(launch_reason(launch({2147483647, 65535, 65535}, {32, 1, 1})), "admitted");
  EXPECT_TRUE(carries(launch_reason(launch({2147483648, 1, 1}, {32, 1, 1})),
                      {"grid.x", "2147483648", "1", "2147483647"}));
  EXPECT_TRUE(carries(launch_reason(launch({1, 65536, 1}, {32, 1, 1})), {"grid.y", "65536", "1", "65535"}));
  EXPECT_TRUE(carries(launch_reason(launch({1, 1, 65536}, {32, 1, 1})), {"grid.z", "65536", "1", "65535"}));
}

TEST(AdmitLaunch, DynamicSharedMemoryUpToTheLimit) {
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {32, 1, 1}, 232448)), "admitted");
  EXPECT_TRUE(
      carries(launch_reason(launch({1, 1, 1}, {32, 1, 1}, 232449)), {"232449 B > 232448 B", "H100 SXM"}));
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {32, 1, 1}, 65536), "T4"), "admitted");
  EXPECT_TRUE(
      carries(launch_reason(launch({1, 1, 1}, {32, 1, 1}, 65537), "T4"), {"65537 B > 65536 B", "T4"}));
}

TEST(AdmitLaunch, ProgrammaticLaunchesFromTheirGenerationOn) {
  Instance instance = launch({1, 1, 1}, {32, 1, 1});
  instance.launches.push_back(instance.launches[0]);
  instance.launches[1].programmatic = true;
  EXPECT_EQ(launch_reason(instance, "H100"), "admitted");
  EXPECT_EQ(launch_reason(instance, "B200"), "admitted");
  EXPECT_TRUE(carries(launch_reason(instance, "A100 40GB"), {"programmatic", "9.0", "A100 40GB", "8.0"}));
}

TEST(AdmitLaunch, ComputeCapabilityComparesAsVersions) {
  const auto reason = [](ComputeCapability needed, const char* model) {
    Instance instance = launch({1, 1, 1}, {32, 1, 1});
    instance.min_compute_capability = needed;
    return launch_reason(instance, model);
  };
  EXPECT_EQ(reason({9, 0}, "H100"), "admitted");
  EXPECT_EQ(reason({8, 9}, "H100"), "admitted");
  EXPECT_TRUE(carries(reason({8, 0}, "T4"), {"7.5", "T4", "8.0"}));
  EXPECT_TRUE(carries(reason({8, 9}, "A100 40GB"), {"8.0", "A100 40GB", "8.9"}));
  EXPECT_EQ(reason({9, 0}, "B200"), "admitted");
  EXPECT_TRUE(carries(reason({10, 0}, "H100"), {"9.0", "H100 SXM", "10.0"}));
}

TEST(AdmitLaunch, InstructionsOfOneGenerationEndWithIt) {
  Instance instance = launch({1, 1, 1}, {32, 1, 1});
  instance.max_compute_capability = ComputeCapability{9, 0};
  EXPECT_EQ(launch_reason(instance, "A100 40GB"), "admitted");
  EXPECT_EQ(launch_reason(instance, "H100"), "admitted");
  EXPECT_TRUE(carries(launch_reason(instance, "B200"), {"10.0", "B200", "9.0", "wgmma"}));
}

std::string map_reason(const TensorMapShape& map, const char* model = "H100") {
  Instance instance = launch({1, 1, 1}, {32, 1, 1});
  instance.launches[0].arguments = {{Argument::Kind::tensor_map, "A", ElementType::i32, {}, map}};
  return launch_reason(instance, model);
}

TEST(AdmitLaunch, TensorMapsAsTheHardwareTakesThem) {
  const TensorMapShape good{ElementType::f32, {100, 200}, {100}, {32, 256}, Swizzle::bytes_128};
  EXPECT_EQ(map_reason(good), "admitted");
  EXPECT_TRUE(carries(map_reason(good, "A100 40GB"), {"9.0", "A100 40GB", "8.0"}));
  TensorMapShape map = good;
  map.extents[0] = (std::int64_t{1} << 32) + 1;
  EXPECT_TRUE(carries(map_reason(map), {"4294967297 > 2^32"}));
  map = good;
  map.pitches[0] = 513;
  EXPECT_TRUE(carries(map_reason(map), {"513 x 4 B = 2052 B", "16 B"}));
  map.pitches[0] = std::int64_t{1} << 38;
  EXPECT_TRUE(carries(map_reason(map), {"274877906944 x 4 B", "2^40 B"}));
  map = good;
  map.offset = 6;
  EXPECT_TRUE(carries(map_reason(map), {"6 x 4 B", "16 B"}));
  map = good;
  map.box[1] = 257;
  EXPECT_TRUE(carries(map_reason(map), {"257", "256"}));
  map = good;
  map.box[0] = 36;
  EXPECT_TRUE(carries(map_reason(map), {"36 x 4 B = 144 B > 128 B"}));
  map.swizzle = Swizzle::none;
  EXPECT_EQ(map_reason(map), "admitted");
  map.box[0] = 2;
  EXPECT_TRUE(carries(map_reason(map), {"2 x 4 B = 8 B", "16 B"}));
}

TEST(AdmitLaunch, WorkspaceUpToTheMemory) {
  Instance instance = launch({1, 1, 1}, {32, 1, 1});
  const std::int64_t memory = gpu("T4").memory_bytes;
  instance.workspace = {{"tickets", ElementType::u32, 256, true},
                        {"partials", ElementType::f32, memory / 4 - 256, false}};
  EXPECT_EQ(launch_reason(instance, "T4"), "admitted");
  instance.workspace[1].elements += 1;
  EXPECT_TRUE(carries(launch_reason(instance, "T4"), {"1.0 KiB", "16.0 GiB > 16.0 GiB", "T4"}));
  for (SizedWorkspace& array : instance.workspace) array.elements = std::int64_t{1} << 56;
  EXPECT_EQ(launch_reason(instance, "T4").substr(0, 18), "workspace tickets ") << "no sum overflows";
}

TEST(BuffersFault, BuffersUpToTheMemory) {
  const std::int64_t floats = gpu("T4").memory_bytes / 4;
  Workload workload;
  workload.buffers = {{"A", ElementType::f32, floats - 256, BufferRole::in},
                      {"C", ElementType::f32, 256, BufferRole::out}};
  EXPECT_EQ(buffers_fault(gpu("T4"), workload), "");
  workload.buffers[1].elements += 1;
  EXPECT_TRUE(carries(buffers_fault(gpu("T4"), workload), {"1.0 KiB > 16.0 GiB", "T4"}));
}

Resources resources(int registers) {
  Resources out;
  out.registers = registers;
  return out;
}

Admission binary(const Instance& instance, const Resources& of_kernel, const AdmissionLimits& limits = {},
                 const char* model = "H100") {
  Admission admission = admit_binary(gpu(model), instance, {of_kernel}, limits);
  EXPECT_EQ(admission.admitted, admission.reason.empty());
  return admission;
}

TEST(AdmitBinary, LaunchBounds) {
  Resources bounded = resources(32);
  bounded.max_threads = 256;
  EXPECT_TRUE(binary(launch({1, 1, 1}, {16, 16, 1}), bounded).admitted);
  EXPECT_TRUE(carries(binary(launch({1, 1, 1}, {257, 1, 1}), bounded).reason, {"257", "256"}));
}

TEST(AdmitBinary, ClustersUpToTheirLimitThatDivideTheGrid) {
  Resources clustered = resources(32);
  clustered.cluster = {4, 2, 1};
  EXPECT_TRUE(binary(launch({8, 6, 3}, {32, 1, 1}), clustered).admitted);
  EXPECT_TRUE(carries(binary(launch({6, 6, 3}, {32, 1, 1}), clustered).reason, {"grid.x", "6", "4"}));
  EXPECT_TRUE(carries(binary(launch({8, 5, 3}, {32, 1, 1}), clustered).reason, {"grid.y", "5", "2"}));
  clustered.cluster = {4, 2, 2};
  EXPECT_TRUE(carries(binary(launch({8, 6, 2}, {32, 1, 1}), clustered).reason, {"4 x 2 x 2 = 16", "8"}));
}

TEST(AdmitBinary, CubinsOfAnotherArchitecture) {
  Resources stray = resources(32);
  stray.architecture = 80;
  const Instance instance = launch({1, 1, 1}, {32, 1, 1});
  EXPECT_TRUE(carries(binary(instance, stray).reason, {"sm_80", "H100 SXM", "sm_90"}));
  EXPECT_TRUE(binary(instance, stray, {}, "A100 40GB").admitted);
  EXPECT_TRUE(binary(instance, stray, {}, "RTX 3090").admitted) << "its minor compute capability is higher";
}

TEST(AdmitBinary, StaticAndDynamicSharedMemoryTogether) {
  Resources with_static = resources(32);
  with_static.static_shared_bytes = 1024;
  EXPECT_TRUE(binary(launch({1, 1, 1}, {32, 1, 1}, 231424), with_static).admitted);
  EXPECT_TRUE(carries(binary(launch({1, 1, 1}, {32, 1, 1}, 231425), with_static).reason,
                      {"231425 B", "1024 B > 232448 B", "H100 SXM"}));
}

TEST(AdmitBinary, RegistersUpToTheFileOfABlock) {
  EXPECT_TRUE(binary(launch({1, 1, 1}, {1024, 1, 1}), resources(64)).admitted);
  EXPECT_TRUE(carries(binary(launch({1, 1, 1}, {1024, 1, 1}), resources(65)).reason,
                      {"too many", "32 x 2304", "65", "73728 > 65536", "H100 SXM"}));
  EXPECT_TRUE(binary(launch({1, 1, 1}, {256, 1, 1}), resources(255)).admitted);
  EXPECT_TRUE(carries(binary(launch({1, 1, 1}, {257, 1, 1}), resources(224)).reason,
                      {"too many", "9", "12 x 7168", "224", "86016 > 65536", "H100 SXM"}));
}

TEST(AdmitBinary, LocalMemoryUpToTheLimitOfAThread) {
  Resources large = resources(32);
  large.stack_bytes = 524288;
  EXPECT_TRUE(binary(launch({1, 1, 1}, {32, 1, 1}), large).admitted);
  large.stack_bytes += 8;
  EXPECT_TRUE(carries(binary(launch({1, 1, 1}, {32, 1, 1}), large).reason, {"524296 B", "524288 B"}));
}

ArgumentValue scalar(const char* name, ElementType type) { return {Argument::Kind::scalar, name, type, {}}; }

std::string argument_reason(const std::vector<ArgumentValue>& passed, const std::vector<int>& taken) {
  Instance instance = launch({1, 1, 1}, {32, 1, 1});
  instance.launches[0].arguments = passed;
  Resources of_kernel = resources(32);
  of_kernel.parameter_bytes = taken;
  const Admission admission = binary(instance, of_kernel);
  return admission.admitted ? "admitted" : admission.reason;
}

TEST(AdmitBinary, ArgumentsAreThoseThatTheKernelTakes) {
  const ArgumentValue buffer{Argument::Kind::buffer, "A", ElementType::i32, {}};
  const ArgumentValue n = scalar("n", ElementType::i32);
  EXPECT_EQ(argument_reason({}, {}), "admitted");
  EXPECT_EQ(argument_reason({n, buffer, scalar("a", ElementType::f64)}, {4, 8, 8}), "admitted");
  EXPECT_TRUE(carries(argument_reason({n, buffer}, {4}), {"1", "2"}));
  EXPECT_TRUE(carries(argument_reason({n}, {4, 8}), {"2", "1"}));
  EXPECT_TRUE(carries(argument_reason({buffer, n}, {8, 8}), {"2", "8 B", "i32", "4 B"}));
  EXPECT_TRUE(carries(argument_reason({n, buffer}, {8, 4}), {"1", "8 B", "i32", "4 B"}));
  const ArgumentValue map{Argument::Kind::tensor_map, "A", ElementType::i32, {}};
  EXPECT_EQ(argument_reason({map}, {128}), "admitted");
  EXPECT_TRUE(carries(argument_reason({map}, {8}), {"1", "8 B", "128 B"}));
  EXPECT_TRUE(carries(argument_reason({buffer}, {16}), {"1", "16 B", "8 B"}));
}

TEST(AdmitBinary, SmallIntegersAreTakenFromLargerOnes) {
  EXPECT_EQ(argument_reason({scalar("transposed", ElementType::i32)}, {1}), "admitted");
  EXPECT_EQ(argument_reason({scalar("count", ElementType::i64)}, {2}), "admitted");
  EXPECT_TRUE(carries(argument_reason({scalar("count", ElementType::i64)}, {4}), {"1", "4 B", "i64", "8 B"}));
  EXPECT_TRUE(carries(argument_reason({scalar("alpha", ElementType::f32)}, {2}), {"1", "2 B", "f32", "4 B"}));
}

TEST(AdmitBinary, WhatTheLaunchAloneForbidsComesFirst) {
  EXPECT_TRUE(carries(binary(launch({1, 70000, 1}, {1024, 1, 1}), resources(255)).reason,
                      {"grid.y", "70000", "1", "65535"}));
}

TEST(AdmitBinary, LimitsOfTheConfigAtTheirEdges) {
  Resources spilling = resources(128);
  spilling.spill_store_bytes = 40;
  spilling.spill_load_bytes = 24;
  const Instance instance = launch({1, 1, 1}, {256, 1, 1});
  AdmissionLimits limits;
  limits.max_spill_bytes = 64;
  limits.max_registers = 128;
  limits.min_occupancy = 0.25;
  EXPECT_TRUE(binary(instance, spilling, limits).admitted);
  limits.max_spill_bytes = 63;
  EXPECT_TRUE(carries(binary(instance, spilling, limits).reason,
                      {"64 B", "40", "24", "63 B", "limits.max_spill_bytes"}));
  limits.max_registers = 127;
  EXPECT_TRUE(
      carries(binary(instance, spilling, limits).reason, {"128 registers", "127", "limits.max_registers"}));
  limits = {};
  limits.min_occupancy = 0.251;
  const Admission low = binary(instance, spilling, limits);
  EXPECT_FALSE(proves_failure(Outcome::refused, low.reason)) << "the GPU would run it";
  EXPECT_TRUE(carries(low.reason, {"25.0%", "25.1%", "limits.min_occupancy", "4", "16384", "4096", "16"}));
  ASSERT_EQ(low.occupancies.size(), 1U);
  EXPECT_EQ(low.occupancies[0].blocks_per_multiprocessor, 2);
}

TEST(AdmitBinary, SpillsAndLowOccupancyWarn) {
  Resources spilling = resources(255);
  spilling.spill_store_bytes = 40;
  spilling.spill_load_bytes = 24;
  const Admission admission = binary(launch({1, 1, 1}, {256, 1, 1}), spilling);
  EXPECT_TRUE(admission.admitted);
  EXPECT_EQ(admission.warnings, (std::vector<std::string>{"spills 64 B", "occupancy 12.5%"}));
  EXPECT_TRUE(binary(launch({1, 1, 1}, {256, 1, 1}), resources(128)).warnings.empty());
}

}  // namespace admission_test
}  // namespace tiletune
