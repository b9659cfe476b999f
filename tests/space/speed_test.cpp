#include <gtest/gtest.h>

#include <chrono>

#include "space/example_spaces.h"
#include "space/space.h"

namespace tiletune {
namespace {

double seconds_to_build(const TemplateSpec& spec) {
  const auto start = std::chrono::steady_clock::now();
  const Space space(spec, problem());
  EXPECT_GT(space.size(), 0U);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The targets are 10 ms and 2 s (bench/); busy machines and sanitizers get five times as much.
TEST(SpaceSpeedTest, BuildsTheClblastSpaceQuickly) { EXPECT_LT(seconds_to_build(clblast_gemm()), 0.05); }
TEST(SpaceSpeedTest, BuildsAMillionOfTenToTheTenQuickly) { EXPECT_LT(seconds_to_build(chain_of_ten()), 10); }

}  // namespace
}  // namespace tiletune
