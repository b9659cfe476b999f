#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "base/statistics.h"
#include "tune/final_rows.h"

namespace tiletune {
namespace finals_statistics_test {

constexpr std::size_t kRounds = 40;

/// Times around a level that spread by so many percent.
class Gpu {
 public:
  explicit Gpu(std::uint64_t seed) : random_(seed) {}

  std::vector<double> times(double level, double percent, std::size_t rounds = kRounds) {
    std::normal_distribution<double> noise(level, level * percent / 100);
    std::vector<double> samples(rounds);
    std::generate(samples.begin(), samples.end(), [&] { return noise(random_); });
    return samples;
  }

 private:
  std::mt19937_64 random_;
};

TEST(FinalsStatistics, AClearWinnerIsNearTheBestForCertainAndTheOthersAreNot) {
  Gpu gpu(1);
  const FinalsSamples samples{{gpu.times(100, 0.3), gpu.times(103, 0.3), gpu.times(120, 0.3, 10)}, {}, {}};
  const FinalsStatistics statistics = finals_statistics(samples);
  EXPECT_EQ(statistics.probability_near_best, (std::vector<double>{1, 0, 0}));
  EXPECT_FALSE(statistics.noise_floor_percent.has_value());
}

TEST(FinalsStatistics, OneThatIsExactlyAPercentSlowerIsNearTheBestHalfOfTheTime) {
  // The medians of one such final are themselves off by some tenths of a percent.
  double mean = 0;
  constexpr int kFinals = 40;
  for (std::uint64_t seed = 1; seed <= kFinals; ++seed) {
    Gpu gpu(seed);
    mean += finals_statistics({{gpu.times(100, 1), gpu.times(101, 1)}, {}, {}}).probability_near_best[1] /
            kFinals;
  }
  EXPECT_NEAR(mean, 0.5, 0.1);
}

TEST(FinalsStatistics, KernelsOfOneDistributionAreAllNearTheBest) {
  Gpu gpu(2);
  FinalsSamples samples;
  for (int i = 0; i < 10; ++i) samples.finalists.push_back(gpu.times(100, 0.5));
  for (const double probability : finals_statistics(samples).probability_near_best)
    EXPECT_GT(probability, 0.99);
}

TEST(FinalsStatistics, TheIntervalCoversTheMedianAsOftenAsItSays) {
  int covered = 0;
  constexpr int kFinals = 400;
  for (std::uint64_t seed = 1; seed <= kFinals; ++seed) {
    Gpu gpu(seed);
    const auto interval = finals_statistics({{gpu.times(100, 1)}, {}, {}}, 500).finalists.front();
    covered += interval.low_us <= 100 && 100 <= interval.high_us ? 1 : 0;
  }
  // The percentile interval of a median is a little conservative for few samples.
  EXPECT_GE(covered, kFinals * 93 / 100);
  EXPECT_LE(covered, kFinals * 99 / 100);
}

TEST(FinalsStatistics, DriftThatAllHaveInCommonIsNoNoise) {
  Gpu gpu(3);
  FinalsSamples samples{{gpu.times(100, 0.1)}, gpu.times(100, 0.1), {}};
  for (std::size_t round = 0; round < kRounds; ++round) {
    const double drift = 1 + 0.002 * static_cast<double>(round);  // 8% from first to last
    samples.finalists[0][round] *= drift;
    samples.twin[round] *= drift;
  }
  const FinalsStatistics statistics = finals_statistics(samples);
  EXPECT_GT(statistics.finalists[0].high_us - statistics.finalists[0].low_us, 1.5);
  EXPECT_LT(*statistics.noise_floor_percent, 0.35);
  EXPECT_GT(*statistics.noise_floor_percent, 0);
}

TEST(FinalsStatistics, ATwinThatIsSlowerBySoMuchShowsIt) {
  Gpu gpu(4);
  const FinalsSamples samples{{gpu.times(100, 0.05)}, gpu.times(99, 0.05), {}};
  EXPECT_NEAR(*finals_statistics(samples).noise_floor_percent, 1, 0.1);
}

TEST(FinalsStatistics, OnlyRoundsThatBothCopiesHaveAreCompared) {
  FinalsSamples samples{{std::vector<double>(10, 100.0)}, std::vector<double>(20, 100.0), {}};
  std::fill(samples.twin.begin() + 10, samples.twin.end(), 500.0);
  EXPECT_EQ(*finals_statistics(samples).noise_floor_percent, 0);
}

TEST(FinalsStatistics, OneSampleIsItsOwnInterval) {
  const FinalsStatistics statistics = finals_statistics({{{7.0}, std::vector<double>(40, 8.0)}, {}, {{9.0}}});
  EXPECT_EQ(statistics.finalists[0].low_us, 7);
  EXPECT_EQ(statistics.finalists[0].high_us, 7);
  EXPECT_EQ(statistics.baselines[0].high_us, 9);
  EXPECT_EQ(statistics.probability_near_best, (std::vector<double>{1, 0}));
}

TEST(FinalsStatistics, TheSameSamplesGiveTheSameStatistics) {
  Gpu gpu(5);
  const FinalsSamples samples{{gpu.times(100, 1), gpu.times(100.5, 1)}, gpu.times(100, 1), {}};
  const FinalsStatistics once = finals_statistics(samples);
  const FinalsStatistics again = finals_statistics(samples);
  EXPECT_EQ(once.probability_near_best, again.probability_near_best);
  EXPECT_EQ(once.noise_floor_percent, again.noise_floor_percent);
  EXPECT_NE(once.noise_floor_percent, finals_statistics(samples, 2000, 2).noise_floor_percent);
}

TEST(FinalsStatistics, AHundredParticipantsTakeAMoment) {
  Gpu gpu(6);
  FinalsSamples samples{{}, gpu.times(100, 1), {gpu.times(100, 1)}};
  for (int i = 0; i < 100; ++i) samples.finalists.push_back(gpu.times(100, 1));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(finals_statistics(samples).finalists.size(), 100U);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", std::to_string(1e3 * took.count()));
  // Ten times what it takes: sanitizers and busy machines are slower.
  EXPECT_LT(took.count(), 2);
}

}  // namespace finals_statistics_test
}  // namespace tiletune
