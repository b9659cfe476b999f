#include "measure/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tiletune {
namespace sampling_test {

/// A kernel whose samples come from a function of their number.
class Kernel {
 public:
  explicit Kernel(std::function<Shot(int)> shot) : shot_(std::move(shot)) {}

  TakeShots take() {
    return [this](int count) {
      std::vector<Shot> shots;
      for (int i = 0; i < count; ++i) shots.push_back(shot_(taken++));
      return shots;
    };
  }

  int taken = 0;

 private:
  std::function<Shot(int)> shot_;
};

Kernel steady(double time_us) {
  return Kernel([=](int) { return Shot{time_us, 1980}; });
}

TEST(Sampling, AClearlySlowerKernelIsGivenUpAfterThreeSamples) {
  Kernel kernel = steady(151);
  RunClock clock;
  const Sampled sampled = sample({}, {151, 100}, clock, kernel.take());
  EXPECT_TRUE(sampled.screened_out);
  EXPECT_EQ(kernel.taken, 3);
  EXPECT_EQ(sampled.samples.times_us, (std::vector<double>{151, 151, 151}));
}

TEST(Sampling, OneQuickSampleSavesAKernelFromScreening) {
  Kernel kernel([](int i) { return Shot{i == 1 ? 149.0 : 180.0, 1980}; });
  RunClock clock;
  EXPECT_FALSE(sample({}, {180, 100}, clock, kernel.take()).screened_out);
}

TEST(Sampling, NothingIsScreenedWithoutALeaderOrWithoutAFactor) {
  Kernel first = steady(1000);
  RunClock clock;
  EXPECT_FALSE(sample({}, {1000, std::nullopt}, clock, first.take()).screened_out);
  MeasurePolicy off;
  off.screening = 0;
  Kernel second = steady(1000);
  EXPECT_FALSE(sample(off, {1000, 100}, clock, second.take()).screened_out);
  EXPECT_EQ(second.taken, 6);
}

TEST(Sampling, FarBeyondTheBoundOneSampleIsEnough) {
  Kernel kernel = steady(188);
  RunClock clock;
  EXPECT_TRUE(sample({}, {188, 100}, clock, kernel.take()).screened_out);
  EXPECT_EQ(kernel.taken, 1);
}

TEST(Sampling, TheFirstLaunchOfAMuchTooSlowKernelIsItsSample) {
  Kernel kernel = steady(40e3);
  RunClock clock;
  const Sampled sampled = sample({}, {40e3, 10e3}, clock, kernel.take());
  EXPECT_TRUE(sampled.screened_out);
  EXPECT_EQ(kernel.taken, 0);
  EXPECT_EQ(sampled.samples.times_us, std::vector<double>{40e3});
}

/// Loading takes some milliseconds, and the host may be busy.
TEST(Sampling, AFirstLaunchThatOnlyLoadedSlowlyCondemnsNobody) {
  Kernel kernel = steady(100);
  RunClock clock;
  const Sampled sampled = sample({}, {19e3, 100}, clock, kernel.take());
  EXPECT_FALSE(sampled.screened_out);
  EXPECT_EQ(kernel.taken, 6);
}

TEST(Sampling, ANoisyKernelGetsAsManySamplesAsThePrecisionNeeds) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(1000, 5);
  RunClock clock;
  MeasurePolicy policy;
  policy.samples = 1000;
  Kernel kernel([&](int) { return Shot{noise(random), 1980}; });
  const Timing timing = summarise(sample(policy, {1000, {}}, clock, kernel.take()).samples);
  EXPECT_LE((timing.ci_high_us - timing.ci_low_us) / 2, 0.005 * timing.median_us);
  EXPECT_LT(timing.times_us.size(), 100U);
  policy.precision_percent = 0.1;
  Kernel again([&](int) { return Shot{noise(random), 1980}; });
  EXPECT_GT(sample(policy, {1000, {}}, clock, again.take()).samples.times_us.size(), 40U);
}

TEST(Sampling, TheCapHoldsAndWithoutPrecisionItIsReached) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> wild(500, 1500);
  RunClock clock;
  Kernel noisy([&](int) { return Shot{wild(random), 1980}; });
  EXPECT_EQ(sample({}, {1000, {}}, clock, noisy.take()).samples.times_us.size(), 30U);
  MeasurePolicy fixed;
  fixed.precision_percent = 0;
  fixed.samples = 7;
  Kernel kernel = steady(5);
  EXPECT_EQ(sample(fixed, {5, {}}, clock, kernel.take()).samples.times_us.size(), 7U);
  fixed.samples = 1;
  Kernel once = steady(5);
  EXPECT_EQ(sample(fixed, {5, {}}, clock, once.take()).samples.times_us.size(), 1U);
}

TEST(Sampling, AVerySlowKernelStopsAtThree) {
  Kernel kernel = steady(140e3);
  RunClock clock;
  MeasurePolicy policy;
  policy.precision_percent = 0;
  EXPECT_EQ(sample(policy, {140e3, {}}, clock, kernel.take()).samples.times_us.size(), 3U);
}

TEST(Sampling, ThrottledSamplesAreThrownAwayCountedAndTakenAgain) {
  RunClock clock;
  for (int i = 0; i < 20; ++i) clock.add(1980);
  Kernel kernel([](int i) { return i % 2 == 0 ? Shot{130, 1500} : Shot{100, 1980}; });
  const Samples samples = sample({}, {100, {}}, clock, kernel.take()).samples;
  EXPECT_EQ(samples.times_us, std::vector<double>(6, 100));
  EXPECT_EQ(samples.clocks_mhz, std::vector<double>(6, 1980));
  EXPECT_EQ(samples.discarded, 6);
}

/// What throttles the GPU by itself is measured as it is, after a while.
TEST(Sampling, AKernelThatAlwaysThrottlesIsMeasuredAllTheSame) {
  RunClock clock;
  for (int i = 0; i < 200; ++i) clock.add(1980);
  Kernel kernel([](int) { return Shot{130, 1500}; });
  MeasurePolicy policy;
  policy.samples = 10;
  const Samples samples = sample(policy, {130, {}}, clock, kernel.take()).samples;
  EXPECT_EQ(samples.times_us, std::vector<double>(6, 130));
  EXPECT_EQ(samples.discarded, 10);
}

TEST(Sampling, ClocksAreGivenForAllSamplesOrForNone) {
  RunClock clock;
  Kernel kernel([](int i) { return i == 2 ? Shot{100, {}} : Shot{100, 1980}; });
  EXPECT_TRUE(sample({}, {100, {}}, clock, kernel.take()).samples.clocks_mhz.empty());
}

TEST(RunClock, FollowsTheRunButNotSingleSamples) {
  RunClock clock;
  EXPECT_FALSE(clock.mhz());
  EXPECT_FALSE(clock.is_throttled(1));
  for (int i = 0; i < 50; ++i) clock.add(1980);
  clock.add(1000);
  EXPECT_EQ(clock.mhz(), 1980);
  EXPECT_TRUE(clock.is_throttled(1781));
  EXPECT_FALSE(clock.is_throttled(1783));
  for (int i = 0; i < 101; ++i) clock.add(1500);
  EXPECT_EQ(clock.mhz(), 1500);
}

}  // namespace sampling_test
}  // namespace tiletune
