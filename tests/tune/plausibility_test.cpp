#include <gtest/gtest.h>

#include "carries.h"
#include "spec/load.h"
#include "tune/ceilings.h"

namespace tiletune {
namespace plausibility_test {

/// 60 TFLOP/s, copies at 4000 GB/s, reads at 4500 GB/s.
constexpr Calibration kCeilings{60, 700, 690, 350, 1400, 1300, 4000, 4500, 30000, 1.25, 2, 1.5};

/// A product of vectors is bound by memory: 256 MiB of A are read, 32 KiB of C are written.
class PlausibilityTest : public testing::Test {
 protected:
  std::optional<std::string> verdict(double median_us, CachePolicy cache = CachePolicy::cold,
                                     int launches = 1, const std::string& problem = "8192x1x8192",
                                     std::optional<double> isolated_us = {}) {
    LoadOptions options;
    const std::filesystem::path home = TILETUNE_SOURCE_DIR;
    options.template_folders = {home / "kernel_templates"};
    options.problems = {problem};
    spec_ = load_tune_spec(home / "configs/quick.json", options);
    for (TemplateSpec& kernel : spec_.templates) kernel.pipe = pipe_;
    tasks_ = plan_tasks(spec_);
    GpuModel gpu;
    gpu.l2_bytes = std::int64_t{60} << 20;
    const ClaimedTime claim{median_us, launches, cache, isolated_us};
    if (auto fault = batch_fault(claim, spec_.templates.front())) return fault;
    return implausibility(claim, tasks_.front(), gpu, ceilings_);
  }

  TuneSpec spec_;
  std::vector<Task> tasks_;
  std::optional<Calibration> ceilings_ = kCeilings;
  std::optional<Emulation> pipe_;
};

constexpr double kReadUs = 4 * (8192.0 * 8192 + 8192) / 4500e3;

TEST_F(PlausibilityTest, WhatWasFlushedHasToBeRead) {
  EXPECT_FALSE(verdict(0.96 * kReadUs).has_value()) << "ceilings are uncertain by 5%";
  const auto why = verdict(30);
  ASSERT_TRUE(why.has_value());
  EXPECT_TRUE(carries(*why, {"268 MB", "30.0 us = 8.95 TB/s", "5%", "4.50 TB/s"}));
  EXPECT_TRUE(verdict(30, CachePolicy::dirty).has_value());
}

TEST_F(PlausibilityTest, TheCacheMayHaveKeptAsMuchAsItHolds) {
  const double beyond_us = kReadUs - (60 << 20) / 4500e3;
  EXPECT_FALSE(verdict(0.96 * beyond_us, CachePolicy::warm).has_value());
  EXPECT_TRUE(verdict(0.94 * beyond_us, CachePolicy::warm).has_value());
  EXPECT_FALSE(verdict(0.01, CachePolicy::warm, 1, "512x1x512").has_value());
}

TEST_F(PlausibilityTest, LaunchesOfABatchReadBuffersOfTheirOwn) {
  EXPECT_FALSE(verdict(0.96 * kReadUs, CachePolicy::cold, 100).has_value());
  EXPECT_TRUE(verdict(0.94 * kReadUs, CachePolicy::cold, 100).has_value());
  EXPECT_FALSE(verdict(0.01, CachePolicy::cold, 10, "512x1x512").has_value())
      << "the cache holds all ten copies";
}

/// What the machine code holds does not matter.
TEST_F(PlausibilityTest, SumsInFp32TakeAsLongAsMultiplyAdds) {
  constexpr double kFlopUs = 2.0 * 4096 * 4096 * 4096 / 60e6;
  const std::string problem = "4096x4096x4096";
  EXPECT_FALSE(verdict(0.96 * kFlopUs, CachePolicy::cold, 1, problem).has_value());
  const auto why = verdict(0.94 * kFlopUs, CachePolicy::cold, 1, problem);
  ASSERT_TRUE(why.has_value());
  EXPECT_TRUE(carries(*why, {"137 GFLOP", "60.0 TFLOP/s", "FP32"}));
}

TEST_F(PlausibilityTest, AnEmulationOfFp32HasACeilingOfItsOwn) {
  constexpr double kFlopUs = 3 * 2.0 * 4096 * 4096 * 4096 / 700e6;
  pipe_ = Emulation::f16x3;
  EXPECT_FALSE(verdict(0.96 * kFlopUs, CachePolicy::cold, 1, "4096x4096x4096").has_value());
  const auto why = verdict(0.94 * kFlopUs, CachePolicy::cold, 1, "4096x4096x4096");
  ASSERT_TRUE(why.has_value());
  EXPECT_TRUE(carries(*why, {"233 TFLOP/s", "f16x3"}));
}

TEST_F(PlausibilityTest, ALaunchInABatchIsNotMuchFasterThanOneAlone) {
  ceilings_.reset();
  EXPECT_FALSE(verdict(10, CachePolicy::warm, 100, "512x1x512", 14).has_value());
  EXPECT_FALSE(verdict(1, CachePolicy::warm, 100, "512x1x512", 5).has_value()) << "latency";
  const auto why = verdict(3, CachePolicy::warm, 100, "512x1x512", 14);
  ASSERT_TRUE(why.has_value());
  EXPECT_TRUE(carries(*why, {"3.00 us", "14.0 us"}));
}

TEST_F(PlausibilityTest, WritesMayEndInTheCache) {
  constexpr double kOuterProductBytes = 4.0 * 4096 * 4096;
  const double beyond_us = (kOuterProductBytes - (60 << 20) + 4 * 2 * 4096) / 4500e3;
  EXPECT_FALSE(verdict(0.96 * beyond_us, CachePolicy::cold, 1, "4096x4096x1").has_value());
  EXPECT_TRUE(verdict(0.94 * beyond_us, CachePolicy::cold, 1, "4096x4096x1").has_value());
}

TEST_F(PlausibilityTest, WithoutCeilingsNothingIsKnown) {
  ceilings_.reset();
  EXPECT_FALSE(verdict(0.001).has_value());
}

}  // namespace plausibility_test
}  // namespace tiletune
