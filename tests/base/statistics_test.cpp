#include "base/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tiletune {
namespace statistics_test {

TEST(Statistics, SummarisesSevenSamples) {
  const Timing timing = summarise({{7, 1, 3, 5, 2, 6, 4}});
  EXPECT_EQ(timing.median_us, 4);
  EXPECT_EQ(timing.min_us, 1);
  EXPECT_EQ(timing.mean_us, 4);
  EXPECT_NEAR(timing.stddev_us, 2.160247, 1e-6);
  // P(B <= 0) = 1/128 per side: the whole range covers 98.4%, the next narrower pair only 87.5%.
  EXPECT_EQ(timing.ci_low_us, 1);
  EXPECT_EQ(timing.ci_high_us, 7);
  EXPECT_EQ(timing.times_us.front(), 7) << "samples stay in the order taken";
}

TEST(Statistics, OneSampleIsItsOwnInterval) {
  const Timing timing = summarise({{3.5}});
  EXPECT_EQ(timing.median_us, 3.5);
  EXPECT_EQ(timing.ci_low_us, 3.5);
  EXPECT_EQ(timing.ci_high_us, 3.5);
  EXPECT_EQ(timing.stddev_us, 0);
}

TEST(Statistics, EveryGpuHasAMedianOfItsOwn) {
  Samples samples{{3, 2, 4}};
  samples.gpu_times_us = {{3, 1}, {2, 2}, {1, 4}};
  EXPECT_EQ(samples.fault(), "");
  EXPECT_EQ(summarise(samples).gpu_medians_us, (std::vector<double>{2, 2}));
  samples.gpu_times_us[1].pop_back();
  EXPECT_NE(samples.fault(), "");
}

TEST(Statistics, EvenCountsTakeTheMiddleOfTwo) { EXPECT_EQ(summarise({{1, 2, 3, 10}}).median_us, 2.5); }

/// Tables of the sign test give these ranks for a 95% interval.
TEST(Statistics, IntervalRanksMatchTheSignTest) {
  const std::vector<std::pair<int, int>> known{{6, 1},  {9, 2},   {12, 3},  {15, 4},
                                               {20, 6}, {40, 14}, {100, 40}};
  for (const auto& [n, rank] : known) {
    std::vector<double> samples(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) samples[static_cast<std::size_t>(i)] = i + 1;
    const Timing timing = summarise({samples});
    EXPECT_EQ(timing.ci_low_us, rank) << n;
    EXPECT_EQ(timing.ci_high_us, n + 1 - rank) << n;
  }
}

TEST(Statistics, IntervalCoversTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> skewed(1.0);
  const double median = std::log(2.0);
  int covered = 0;
  constexpr int kRounds = 4000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> samples(25);
    std::generate(samples.begin(), samples.end(), [&] { return skewed(random); });
    const Timing timing = summarise({samples});
    covered += timing.ci_low_us <= median && median <= timing.ci_high_us ? 1 : 0;
  }
  EXPECT_GE(covered, kRounds * 94 / 100);
}

TEST(Statistics, CyclesFollowEverySamplesOwnClock) {
  Samples samples{{10, 20, 30}};
  samples.clocks_mhz = {1000, 500, 2000};
  const Timing timing = summarise(samples);
  EXPECT_EQ(timing.sm_clock_mhz, 1000);
  EXPECT_EQ(timing.median_cycles, 10000) << "of 10000, 10000 and 60000";
  EXPECT_FALSE(summarise({{10, 20}}).median_cycles);
}

}  // namespace statistics_test
}  // namespace tiletune
