#include <gtest/gtest.h>

#include "base/outcome.h"
#include "inspect/kernels.h"
#include "inspect/occupancy.h"

namespace tiletune {
namespace {

Instance launch(Dim3 grid, Dim3 block, std::int64_t dynamic_shared_bytes = 0) {
  Instance instance;
  instance.grid = grid;
  instance.block = block;
  instance.dynamic_shared_bytes = dynamic_shared_bytes;
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
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {1025, 1, 1})), "block.x = 1025 threads, CUDA takes 1 to 1024");
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {1, 1025, 1})), "block.y = 1025 threads, CUDA takes 1 to 1024");
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {1, 1, 65})), "block.z = 65 threads, CUDA takes 1 to 64");
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {0, 1, 1})), "block.x = 0 threads, CUDA takes 1 to 1024");
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {33, 32, 1})),
            "block of 33 x 32 x 1 = 1056 threads > 1024 that a block may have on H100 SXM");
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {INT64_MAX, INT64_MAX, 2})),
            "block.x = 9223372036854775807 threads, CUDA takes 1 to 1024");
}

TEST(AdmitLaunch, GridsUpToTheLimits) {
  EXPECT_EQ(launch_reason(launch({2147483647, 65535, 65535}, {32, 1, 1})), "admitted");
  EXPECT_EQ(launch_reason(launch({2147483648, 1, 1}, {32, 1, 1})),
            "grid.x = 2147483648 blocks, CUDA takes 1 to 2147483647");
  EXPECT_EQ(launch_reason(launch({1, 65536, 1}, {32, 1, 1})), "grid.y = 65536 blocks, CUDA takes 1 to 65535");
  EXPECT_EQ(launch_reason(launch({1, 1, 65536}, {32, 1, 1})), "grid.z = 65536 blocks, CUDA takes 1 to 65535");
}

TEST(AdmitLaunch, DynamicSharedMemoryUpToTheLimit) {
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {32, 1, 1}, 232448)), "admitted");
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {32, 1, 1}, 232449)),
            "dynamic shared memory 232449 B > 232448 B that a block may have on H100 SXM");
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {32, 1, 1}, 65536), "T4"), "admitted");
  EXPECT_EQ(launch_reason(launch({1, 1, 1}, {32, 1, 1}, 65537), "T4"),
            "dynamic shared memory 65537 B > 65536 B that a block may have on T4");
}

TEST(AdmitLaunch, ComputeCapabilityComparesAsVersions) {
  const auto reason = [](ComputeCapability needed, const char* model) {
    Instance instance = launch({1, 1, 1}, {32, 1, 1});
    instance.min_compute_capability = needed;
    return launch_reason(instance, model);
  };
  EXPECT_EQ(reason({9, 0}, "H100"), "admitted");
  EXPECT_EQ(reason({8, 9}, "H100"), "admitted");
  EXPECT_EQ(reason({8, 0}, "T4"), "compute capability 7.5 of T4 < 8.0 that the configuration needs");
  EXPECT_EQ(reason({8, 9}, "A100"), "compute capability 8.0 of A100 40GB < 8.9 that the configuration needs");
  EXPECT_EQ(reason({9, 0}, "B200"), "admitted");
  EXPECT_EQ(reason({10, 0}, "H100"),
            "compute capability 9.0 of H100 SXM < 10.0 that the configuration needs");
}

std::string map_reason(const TensorMapShape& map, const char* model = "H100") {
  Instance instance = launch({1, 1, 1}, {32, 1, 1});
  instance.arguments = {{Argument::Kind::tensor_map, "A", ScalarType::i32, {}, map}};
  return launch_reason(instance, model);
}

TEST(AdmitLaunch, TensorMapsAsTheHardwareTakesThem) {
  const TensorMapShape good{ElementType::f32, {100, 200}, {100}, {32, 256}, Swizzle::bytes_128};
  EXPECT_EQ(map_reason(good), "admitted");
  EXPECT_EQ(map_reason(good, "A100"), "tensor map of A: needs compute capability 9.0, A100 40GB has 8.0");
  TensorMapShape map = good;
  map.extents[0] = (std::int64_t{1} << 32) + 1;
  EXPECT_EQ(map_reason(map), "tensor map of A: extent 4294967297 > 2^32");
  map = good;
  map.pitches[0] = 513;
  EXPECT_EQ(map_reason(map), "tensor map of A: pitch 513 x 4 B = 2052 B is not a multiple of 16 B");
  map.pitches[0] = std::int64_t{1} << 38;
  EXPECT_EQ(map_reason(map), "tensor map of A: pitch 274877906944 x 4 B is not below 2^40 B");
  map = good;
  map.box[1] = 257;
  EXPECT_EQ(map_reason(map), "tensor map of A: box of 257 elements > 256 in one dimension");
  map = good;
  map.box[0] = 36;
  EXPECT_EQ(map_reason(map), "tensor map of A: rows of its box 36 x 4 B = 144 B > 128 B of the swizzle");
  map.swizzle = Swizzle::none;
  EXPECT_EQ(map_reason(map), "admitted");
  map.box[0] = 2;
  EXPECT_EQ(map_reason(map), "tensor map of A: rows of its box 2 x 4 B = 8 B are not a multiple of 16 B");
}

TEST(AdmitLaunch, WorkspaceUpToTheMemory) {
  Instance instance = launch({1, 1, 1}, {32, 1, 1});
  const std::int64_t memory = gpu("T4").memory_bytes;
  instance.workspace = {{"tickets", ElementType::u32, 256, true},
                        {"partials", ElementType::f32, memory / 4 - 256, false}};
  EXPECT_EQ(launch_reason(instance, "T4"), "admitted");
  instance.workspace[1].elements += 1;
  EXPECT_EQ(launch_reason(instance, "T4"),
            "workspace tickets 1.0 KiB + partials 16.0 GiB > 16.0 GiB of memory that T4 has");
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
  EXPECT_EQ(buffers_fault(gpu("T4"), workload),
            "buffers A 16.0 GiB + C 1.0 KiB > 16.0 GiB of memory that T4 has");
}

Resources resources(int registers) {
  Resources out;
  out.registers = registers;
  return out;
}

Admission binary(const Instance& instance, const Resources& of_kernel, const AdmissionLimits& limits = {},
                 const char* model = "H100") {
  Admission admission = admit_binary(gpu(model), instance, of_kernel, limits);
  EXPECT_EQ(admission.admitted, admission.reason.empty());
  return admission;
}

TEST(AdmitBinary, LaunchBounds) {
  Resources bounded = resources(32);
  bounded.max_threads = 256;
  EXPECT_TRUE(binary(launch({1, 1, 1}, {16, 16, 1}), bounded).admitted);
  EXPECT_EQ(binary(launch({1, 1, 1}, {257, 1, 1}), bounded).reason,
            "block of 257 threads > 256 of the kernel's __launch_bounds__");
}

TEST(AdmitBinary, CubinsOfAnotherArchitecture) {
  Resources stray = resources(32);
  stray.architecture = 80;
  const Instance instance = launch({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(binary(instance, stray).reason,
            "the compiled kernel is for sm_80, but H100 SXM is sm_90; remove the kernel cache");
  EXPECT_TRUE(binary(instance, stray, {}, "A100").admitted);
}

TEST(AdmitBinary, StaticAndDynamicSharedMemoryTogether) {
  Resources with_static = resources(32);
  with_static.static_shared_bytes = 1024;
  EXPECT_TRUE(binary(launch({1, 1, 1}, {32, 1, 1}, 231424), with_static).admitted);
  EXPECT_EQ(binary(launch({1, 1, 1}, {32, 1, 1}, 231425), with_static).reason,
            "dynamic shared memory 231425 B + static 1024 B > 232448 B that a block may have on H100 SXM");
}

TEST(AdmitBinary, RegistersUpToTheFileOfABlock) {
  EXPECT_TRUE(binary(launch({1, 1, 1}, {1024, 1, 1}), resources(64)).admitted);
  EXPECT_EQ(binary(launch({1, 1, 1}, {1024, 1, 1}), resources(65)).reason,
            "too many registers for the launch: 32 warps, in fours 32 x 2304 registers per warp (65 per "
            "thread) = 73728 "
            "> 65536 that a block may have on H100 SXM");
  EXPECT_TRUE(binary(launch({1, 1, 1}, {256, 1, 1}), resources(255)).admitted);
  EXPECT_EQ(binary(launch({1, 1, 1}, {257, 1, 1}), resources(224)).reason,
            "too many registers for the launch: 9 warps, in fours 12 x 7168 registers per warp (224 per "
            "thread) = 86016 "
            "> 65536 that a block may have on H100 SXM");
}

TEST(AdmitBinary, LocalMemoryUpToTheLimitOfAThread) {
  Resources large = resources(32);
  large.stack_bytes = 524288;
  EXPECT_TRUE(binary(launch({1, 1, 1}, {32, 1, 1}), large).admitted);
  large.stack_bytes += 8;
  EXPECT_EQ(binary(launch({1, 1, 1}, {32, 1, 1}), large).reason,
            "524296 B of local memory per thread > 524288 B that a thread may have");
}

ArgumentValue scalar(const char* name, ScalarType type) { return {Argument::Kind::scalar, name, type, {}}; }

std::string argument_reason(const std::vector<ArgumentValue>& passed, const std::vector<int>& taken) {
  Instance instance = launch({1, 1, 1}, {32, 1, 1});
  instance.arguments = passed;
  Resources of_kernel = resources(32);
  of_kernel.parameter_bytes = taken;
  const Admission admission = binary(instance, of_kernel);
  return admission.admitted ? "admitted" : admission.reason;
}

TEST(AdmitBinary, ArgumentsAreThoseThatTheKernelTakes) {
  const ArgumentValue buffer{Argument::Kind::buffer, "A", ScalarType::i32, {}};
  const ArgumentValue n = scalar("n", ScalarType::i32);
  EXPECT_EQ(argument_reason({}, {}), "admitted");
  EXPECT_EQ(argument_reason({n, buffer, scalar("a", ScalarType::f64)}, {4, 8, 8}), "admitted");
  EXPECT_EQ(argument_reason({n, buffer}, {4}), "arguments: the kernel takes 1, the template passes 2");
  EXPECT_EQ(argument_reason({n}, {4, 8}), "arguments: the kernel takes 2, the template passes 1");
  EXPECT_EQ(argument_reason({buffer, n}, {8, 8}),
            "argument 2 of the kernel has 8 B, the template passes n (i32) with 4 B");
  EXPECT_EQ(argument_reason({n, buffer}, {8, 4}),
            "argument 1 of the kernel has 8 B, the template passes n (i32) with 4 B");
  const ArgumentValue map{Argument::Kind::tensor_map, "A", ScalarType::i32, {}};
  EXPECT_EQ(argument_reason({map}, {128}), "admitted");
  EXPECT_EQ(argument_reason({map}, {8}),
            "argument 1 of the kernel has 8 B, the template passes A (tensor map) with 128 B");
  EXPECT_EQ(argument_reason({buffer}, {16}),
            "argument 1 of the kernel has 16 B, the template passes A (buffer) with 8 B");
}

TEST(AdmitBinary, SmallIntegersAreTakenFromLargerOnes) {
  EXPECT_EQ(argument_reason({scalar("transposed", ScalarType::i32)}, {1}), "admitted");
  EXPECT_EQ(argument_reason({scalar("count", ScalarType::i64)}, {2}), "admitted");
  EXPECT_EQ(argument_reason({scalar("count", ScalarType::i64)}, {4}),
            "argument 1 of the kernel has 4 B, the template passes count (i64) with 8 B");
  EXPECT_EQ(argument_reason({scalar("alpha", ScalarType::f32)}, {2}),
            "argument 1 of the kernel has 2 B, the template passes alpha (f32) with 4 B");
}

TEST(AdmitBinary, WhatTheLaunchAloneForbidsComesFirst) {
  EXPECT_EQ(binary(launch({1, 70000, 1}, {1024, 1, 1}), resources(255)).reason,
            "grid.y = 70000 blocks, CUDA takes 1 to 65535");
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
  EXPECT_EQ(binary(instance, spilling, limits).reason,
            "spills 64 B (stores 40 + loads 24) > 63 B of limits.max_spill_bytes");
  limits.max_registers = 127;
  EXPECT_EQ(binary(instance, spilling, limits).reason,
            "128 registers per thread > 127 of limits.max_registers");
  limits = {};
  limits.min_occupancy = 0.251;
  const Admission low = binary(instance, spilling, limits);
  EXPECT_FALSE(proves_failure(Outcome::refused, low.reason)) << "the GPU would run it";
  EXPECT_EQ(low.reason.substr(0, 89),
            "occupancy 25.0% < 25.1% of limits.min_occupancy (registers: 4 x (16384 / 4096) = 16 warps");
  ASSERT_TRUE(low.occupancy);
  EXPECT_EQ(low.occupancy->blocks_per_multiprocessor, 2);
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

}  // namespace
}  // namespace tiletune
