#include "measure/race.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace {

Racer racer(double median_us, int rounds, bool stays = false) {
  Racer racer;
  racer.stays = stays;
  for (int i = 0; i < rounds; ++i) racer.samples.times_us.push_back(median_us + (i % 3 - 1) * 0.1);
  return racer;
}

TEST(Race, WhatIsClearlySlowerLeavesAndBaselinesStay) {
  std::vector<Racer> racers{racer(100, 10), racer(100.1, 10), racer(102, 10), racer(150, 10, true)};
  race_out(racers);
  EXPECT_FALSE(racers[0].is_out);
  EXPECT_FALSE(racers[1].is_out) << "its interval reaches the leader's";
  EXPECT_TRUE(racers[2].is_out);
  EXPECT_FALSE(racers[3].is_out);
}

TEST(Race, WhoseTimeIsNotSettledStays) {
  Racer noisy;
  for (int i = 0; i < 10; ++i) noisy.samples.times_us.push_back(110 + i);
  std::vector<Racer> racers{racer(100, 10), noisy};
  race_out(racers);
  EXPECT_FALSE(racers[1].is_out);
}

TEST(Race, NobodyIsJudgedBeforeTenRounds) {
  std::vector<Racer> racers{racer(100, 9), racer(200, 9)};
  race_out(racers);
  EXPECT_FALSE(racers[1].is_out);
}

TEST(Race, TheFirstNeedNotBeTheFastest) {
  std::vector<Racer> racers{racer(110, 15), racer(100, 15)};
  race_out(racers);
  EXPECT_TRUE(racers[0].is_out);
  EXPECT_FALSE(racers[1].is_out);
}

TEST(Race, WhoeverHasNoSamplesIsLeftAlone) {
  std::vector<Racer> racers{racer(100, 10), Racer{}};
  race_out(racers);
  EXPECT_FALSE(racers[1].is_out);
}

TEST(Race, SlowKernelsRunFewerRoundsButEnough) {
  EXPECT_EQ(rounds_for(10e3, 40), 40);
  EXPECT_EQ(rounds_for(100e3, 40), 30);
  EXPECT_EQ(rounds_for(10e6, 40), 12);
  EXPECT_EQ(rounds_for(10e6, 8), 8);
}

}  // namespace
}  // namespace tiletune
