#include "inspect/occupancy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <regex>

#include "base/error.h"
#include "carries.h"
#include "inspect/kernels.h"

namespace tiletune {
namespace occupancy_test {

Resources kernel(int registers, std::int64_t static_shared = 0, int barriers = 0) {
  Resources resources;
  resources.registers = registers;
  resources.static_shared_bytes = static_shared;
  resources.barriers = barriers;
  return resources;
}

struct Known {
  const char* model;
  int threads, registers;
  std::int64_t static_shared, dynamic_shared;
  int blocks;
  double fraction;
  const char* limiter;
  const char* arithmetic;
};

/// Calculated by hand from the models' figures: registers are allocated to warps in units of 256 from a
/// quarter of the multiprocessor's, shared memory in units of 128 B (256 B before compute capability 8.0)
/// with the reserve.
const Known kKnown[] = {
    {"H100", 256, 128, 0, 0, 2, 0.25, "registers",
     "registers: 4 x (16384 / 4096) = 16 warps, 16 / 8 = 2 blocks; shared memory: 233472 / 1024 = 228; "
     "warps: 64 / 8 = "
     "8; blocks: 32"},
    {"H100 PCIe", 96, 168, 0, 0, 4, 0.1875, "registers",
     "registers: 4 x (16384 / 5376) = 12 warps, 12 / 3 = 4 blocks; shared memory: 233472 / 1024 = 228; "
     "warps: 64 / 3 = "
     "21; blocks: 32"},
    {"H200", 256, 40, 0, 231424, 1, 0.125, "shared memory",
     "registers: 4 x (16384 / 1280) = 48 warps, 48 / 8 = 6 blocks; shared memory: 233472 / 232448 = 1; "
     "warps: 64 / 8 = "
     "8; blocks: 32"},
    {"H200", 128, 255, 1, 0, 2, 0.125, "registers",
     "registers: 4 x (16384 / 8192) = 8 warps, 8 / 4 = 2 blocks; shared memory: 233472 / 1152 = 202; warps: "
     "64 / 4 = "
     "16; blocks: 32"},
    {"A100 40GB", 256, 64, 0, 40960, 4, 0.5, "registers+shared memory",
     "registers: 4 x (16384 / 2048) = 32 warps, 32 / 8 = 4 blocks; shared memory: 167936 / 41984 = 4; warps: "
     "64 / 8 = "
     "8; blocks: 32"},
    {"A100 80GB", 1024, 32, 0, 0, 2, 1.0, "warps+registers",
     "registers: 4 x (16384 / 1024) = 64 warps, 64 / 32 = 2 blocks; shared memory: 167936 / 1024 = 164; "
     "warps: 64 / 32 "
     "= 2; blocks: 32"},
    {"RTX 3090", 512, 32, 0, 0, 3, 1.0, "warps",
     "registers: 4 x (16384 / 1024) = 64 warps, 64 / 16 = 4 blocks; shared memory: 102400 / 1024 = 100; "
     "warps: 48 / 16 "
     "= 3; blocks: 16"},
    {"RTX 4090", 1024, 33, 0, 0, 1, 2.0 / 3, "warps+registers",
     "registers: 4 x (16384 / 1280) = 48 warps, 48 / 32 = 1 blocks; shared memory: 102400 / 1024 = 100; "
     "warps: 48 / 32 "
     "= 1; blocks: 24"},
    {"L40S", 32, 16, 0, 0, 24, 0.5, "blocks",
     "registers: 4 x (16384 / 512) = 128 warps, 128 / 1 = 128 blocks; shared memory: 102400 / 1024 = 100; "
     "warps: 48 / 1 "
     "= 48; blocks: 24"},
    {"T4", 32, 16, 0, 0, 16, 0.5, "blocks",
     "registers: 4 x (16384 / 512) = 128 warps, 128 / 1 = 128 blocks; shared memory: no limit; warps: 32 / 1 "
     "= 32; "
     "blocks: 16"},
    {"T4", 64, 32, 100, 8000, 8, 0.5, "shared memory",
     "registers: 4 x (16384 / 1024) = 64 warps, 64 / 2 = 32 blocks; shared memory: 65536 / 8192 = 8; warps: "
     "32 / 2 = "
     "16; blocks: 16"},
    {"B200", 1024, 64, 0, 0, 1, 0.5, "registers",
     "registers: 4 x (16384 / 2048) = 32 warps, 32 / 32 = 1 blocks; shared memory: 233472 / 1024 = 228; "
     "warps: 64 / 32 "
     "= 2; blocks: 32"},
};

TEST(Occupancy, KnownAnswers) {
  for (const Known& known : kKnown) {
    const Occupancy occupancy = compute_occupancy(
        gpu(known.model), kernel(known.registers, known.static_shared), known.threads, known.dynamic_shared);
    SCOPED_TRACE(known.model);
    EXPECT_EQ(occupancy.blocks_per_multiprocessor, known.blocks);
    EXPECT_DOUBLE_EQ(occupancy.fraction, known.fraction);
    EXPECT_EQ(occupancy.limiter, known.limiter);
    EXPECT_EQ(occupancy.arithmetic, known.arithmetic);
  }
}

TEST(Occupancy, AModelsOwnLimitOfBlocksCounts) {
  GpuModel model = gpu("A100 40GB");
  model.max_blocks_per_multiprocessor = 5;
  const Occupancy occupancy = compute_occupancy(model, kernel(16, 0), 32, 0);
  EXPECT_EQ(occupancy.blocks_per_multiprocessor, 5);
  EXPECT_EQ(occupancy.limiter, "blocks");
}

TEST(Occupancy, MoreThan48KibOfSharedMemoryCountsAsOptedIn) {
  for (const char* name : {"T4", "A100 40GB", "H100", "RTX 4090"}) {
    const GpuModel& model = gpu(name);
    const std::int64_t most = model.shared_bytes_per_block_optin;
    EXPECT_EQ(compute_occupancy(model, kernel(32), 128, most).blocks_per_multiprocessor, 1) << name;
    EXPECT_EQ(compute_occupancy(model, kernel(32, 1024), 128, most - 1024).blocks_per_multiprocessor, 1)
        << name;
    const Occupancy none = compute_occupancy(model, kernel(32), 128, most + 1);
    EXPECT_EQ(none.blocks_per_multiprocessor, 0) << name;
    EXPECT_EQ(none.limiter, "shared memory") << name;
  }
  EXPECT_TRUE(carries(compute_occupancy(gpu("H100"), kernel(32), 128, 232449).arithmetic,
                      {"233600 > 233472", "block = 0"}));
}

TEST(Occupancy, AbsurdSharedMemoryIsZeroBlocksNotOverflow) {
  EXPECT_EQ(compute_occupancy(gpu("H100"), kernel(32), 128, std::int64_t{1} << 32).blocks_per_multiprocessor,
            0);
  EXPECT_EQ(compute_occupancy(gpu("H100"), kernel(32), 128, INT64_MAX).blocks_per_multiprocessor, 0);
}

TEST(Occupancy, NamedBarriersLimitFromHopperOn) {
  const Occupancy hopper = compute_occupancy(gpu("H100"), kernel(32, 0, 16), 32, 0);
  EXPECT_EQ(hopper.blocks_per_multiprocessor, 4);
  EXPECT_EQ(hopper.limiter, "barriers");
  EXPECT_NE(hopper.arithmetic.find("; blocks: 32; barriers: 4"), std::string::npos);
  const Occupancy ampere = compute_occupancy(gpu("A100 40GB"), kernel(32, 0, 16), 32, 0);
  EXPECT_EQ(ampere.blocks_per_multiprocessor, 32);
  EXPECT_EQ(ampere.limit_by_barriers, -1);
}

TEST(Occupancy, ABlocksOwnRegisterLimitIsNamed) {
  GpuModel model = gpu("H100");
  model.registers_per_block = 32768;
  const Occupancy occupancy = compute_occupancy(model, kernel(128), 288, 0);
  EXPECT_EQ(occupancy.blocks_per_multiprocessor, 0);
  EXPECT_TRUE(carries(occupancy.arithmetic, {"9", "4096", "4", "32768", "0"}));
}

TEST(Occupancy, AnUnknownComputeCapabilityNamesTheToolkit) {
  GpuModel model = gpu("B200");
  const auto message = [&] {
    try {
      compute_occupancy(model, kernel(32), 128, 0);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  model.compute_major = 99;
  EXPECT_TRUE(carries(message(), {"99.0", "B200"}));
  // Unknown to every toolkit so far, but of a family that 12.8 brought.
  model.compute_major = 12;
  model.compute_minor = 9;
  EXPECT_TRUE(carries(message(), {"12.9", "B200", "12.8", "newer"}));
}

TEST(Occupancy, TheModelsBlockLimitIsTheHeaders) {
  for (const GpuModel& model : gpu_models()) {
    EXPECT_EQ(compute_occupancy(model, kernel(16), 32, 0).limit_by_blocks,
              model.max_blocks_per_multiprocessor)
        << model.name;
  }
}

std::vector<int> numbers(const std::smatch& match) {
  std::vector<int> out;
  for (std::size_t i = 1; i < match.size(); ++i) out.push_back(std::stoi(match[i]));
  return out;
}

/// Evaluates the divisions that the text shows, checks the results it states, and returns the smallest.
int smallest_limit(const std::string& text) {
  int smallest = 1 << 30;
  std::smatch match;
  if (std::regex_search(
          text, match,
          std::regex(R"(registers: 4 x \((\d+) / (\d+)\) = (\d+) warps, (\d+) / (\d+) = (\d+) blocks)"))) {
    const auto n = numbers(match);
    EXPECT_EQ(4 * (n[0] / n[1]), n[2]) << text;
    EXPECT_EQ(n[2], n[3]) << text;
    EXPECT_EQ(n[3] / n[4], n[5]) << text;
    smallest = std::min(smallest, n[5]);
  } else {
    ADD_FAILURE() << text;
  }
  if (std::regex_search(text, match, std::regex(R"(shared memory: (\d+) / (\d+) = (\d+);)"))) {
    const auto n = numbers(match);
    EXPECT_EQ(n[0] / n[1], n[2]) << text;
    smallest = std::min(smallest, n[2]);
  } else if (text.find("per block = 0") != std::string::npos) {
    smallest = 0;
  } else {
    EXPECT_NE(text.find("shared memory: no limit"), std::string::npos) << text;
  }
  if (std::regex_search(text, match, std::regex(R"(warps: (\d+) / (\d+) = (\d+); blocks: (\d+))"))) {
    const auto n = numbers(match);
    EXPECT_EQ(n[0] / n[1], n[2]) << text;
    smallest = std::min({smallest, n[2], n[3]});
  } else {
    ADD_FAILURE() << text;
  }
  if (std::regex_search(text, match, std::regex(R"(barriers: (\d+))")))
    smallest = std::min(smallest, std::stoi(match[1]));
  return smallest;
}

TEST(Occupancy, TheShownArithmeticGivesTheHeadersAnswerOverASweep) {
  std::mt19937 random(7);
  for (const GpuModel& model : gpu_models()) {
    for (int round = 0; round < 300; ++round) {
      const int threads = 1 + static_cast<int>(random() % 1024);
      const int registers = 16 + static_cast<int>(random() % 240);
      const auto static_shared = static_cast<std::int64_t>(round % 3 == 0 ? 0 : random() % 49153);
      const auto dynamic_shared = static_cast<std::int64_t>(round % 2 == 0 ? 0 : random() % 240000);
      const Occupancy occupancy =
          compute_occupancy(model, kernel(registers, static_shared, round % 17), threads, dynamic_shared);
      SCOPED_TRACE(model.name + ": " + occupancy.arithmetic);
      EXPECT_EQ(smallest_limit(occupancy.arithmetic), occupancy.blocks_per_multiprocessor);
      EXPECT_FALSE(occupancy.limiter.empty());
      const int per_warp = (registers * 32 + 255) / 256 * 256;
      EXPECT_EQ(occupancy.registers_per_block, per_warp * ((threads + 31) / 32));
      const std::int64_t unit = model.compute_major < 8 ? 256 : 128;
      const std::int64_t shared = static_shared + dynamic_shared + model.reserved_shared_bytes_per_block;
      EXPECT_EQ(occupancy.shared_bytes_per_block, (shared + unit - 1) / unit * unit);
    }
  }
}

}  // namespace occupancy_test
}  // namespace tiletune
