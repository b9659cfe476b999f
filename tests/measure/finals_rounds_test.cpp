#include <gtest/gtest.h>

#include "measure/finals.h"

namespace tiletune {
namespace finals_rounds_test {

FinalistSamples finalist(double median_us, int rounds, bool stays = false) {
  FinalistSamples finalist;
  finalist.stays = stays;
  for (int i = 0; i < rounds; ++i) finalist.samples.times_us.push_back(median_us + (i % 3 - 1) * 0.1);
  return finalist;
}

TEST(FinalsRounds, WhatIsClearlySlowerLeavesAndBaselinesStay) {
  std::vector<FinalistSamples> finalists{finalist(100, 20), finalist(100.1, 20), finalist(102, 20),
                                         finalist(150, 20, true)};
  drop_slow_finalists(finalists);
  EXPECT_FALSE(finalists[0].is_out);
  EXPECT_FALSE(finalists[1].is_out) << "its interval reaches the leader's";
  EXPECT_TRUE(finalists[2].is_out);
  EXPECT_FALSE(finalists[3].is_out);
}

TEST(FinalsRounds, WhoseTimeIsNotSettledStays) {
  FinalistSamples noisy;
  for (int i = 0; i < 20; ++i) noisy.samples.times_us.push_back(110 + i);
  std::vector<FinalistSamples> finalists{finalist(100, 20), noisy};
  drop_slow_finalists(finalists);
  EXPECT_FALSE(finalists[1].is_out);
}

TEST(FinalsRounds, NobodyIsJudgedBeforeTwentyRounds) {
  std::vector<FinalistSamples> finalists{finalist(100, 19), finalist(200, 19)};
  drop_slow_finalists(finalists);
  EXPECT_FALSE(finalists[1].is_out);
}

TEST(FinalsRounds, TheFirstNeedNotBeTheFastest) {
  std::vector<FinalistSamples> finalists{finalist(110, 25), finalist(100, 25)};
  drop_slow_finalists(finalists);
  EXPECT_TRUE(finalists[0].is_out);
  EXPECT_FALSE(finalists[1].is_out);
}

/// Where a library is faster than all configurations, these still compete to the end.
TEST(FinalsRounds, ABaselineSetsNoPace) {
  FinalistSamples baseline = finalist(80, 25, true);
  baseline.competes = false;
  std::vector<FinalistSamples> finalists{finalist(100, 25), finalist(100.1, 25), finalist(102, 25), baseline};
  drop_slow_finalists(finalists);
  EXPECT_FALSE(finalists[0].is_out);
  EXPECT_FALSE(finalists[1].is_out);
  EXPECT_TRUE(finalists[2].is_out);
}

TEST(FinalsRounds, WhoeverHasNoSamplesIsLeftAlone) {
  std::vector<FinalistSamples> finalists{finalist(100, 20), FinalistSamples{}};
  drop_slow_finalists(finalists);
  EXPECT_FALSE(finalists[1].is_out);
}

TEST(FinalsRounds, TheyEndOnceAllTimesAreKnown) {
  FinalistSamples left = finalist(110, 20);
  left.is_out = true;
  EXPECT_TRUE(are_times_known({finalist(100, 40), finalist(150, 40, true), left, FinalistSamples{}}));
  EXPECT_FALSE(are_times_known({finalist(100, 35)})) << "buffers moved too few times";
  FinalistSamples noisy;
  for (int i = 0; i < 40; ++i) noisy.samples.times_us.push_back(100 + i % 2);
  EXPECT_FALSE(are_times_known({finalist(100, 40), noisy}));
  FinalistSamples baseline;
  for (int i = 0; i < 40; ++i) baseline.samples.times_us.push_back(100 + 0.3 * (i % 2));
  EXPECT_FALSE(are_times_known({finalist(100, 40), baseline}));
  baseline.competes = false;
  EXPECT_TRUE(are_times_known({finalist(100, 40), baseline})) << "it is known less exactly";
}

TEST(FinalsRounds, SlowKernelsRunFewerRoundsButEnough) {
  EXPECT_EQ(rounds_for(10e3, 40, 3e6), 40);
  EXPECT_EQ(rounds_for(100e3, 40, 3e6), 30);
  EXPECT_EQ(rounds_for(10e6, 40, 3e6), 12);
  EXPECT_EQ(rounds_for(100e3, 40, 2e6), 20);
  EXPECT_EQ(rounds_for(10e6, 8, 3e6), 8);
}

}  // namespace finals_rounds_test
}  // namespace tiletune
