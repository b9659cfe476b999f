#include "measure/launch_checks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "carries.h"

namespace tiletune {
namespace launch_checks_test {

LaunchTally known(double check_us) {
  LaunchTally tally;
  tally.queued = 1;
  tally.check_us = check_us;
  return tally;
}

std::ptrdiff_t count(const std::vector<bool>& chosen) {
  return std::count(chosen.begin(), chosen.end(), true);
}

TEST(CheckBudget, ChecksEveryLaunchWhereThatIsCheap) {
  CheckBudget budget(1);
  EXPECT_EQ(count(budget.choose(16, 1000, known(40))), 16);
}

TEST(CheckBudget, BeforeTheCostIsKnownOneLaunchIsChecked) {
  CheckBudget budget(1);
  EXPECT_EQ(budget.choose(1, 1000, {}), std::vector<bool>{true});
  EXPECT_EQ(budget.choose(3, 1000, {}), (std::vector<bool>{false, false, true}));
}

TEST(CheckBudget, TheLastOfASeriesIsCheckedWhateverItCosts) {
  CheckBudget budget(1);
  EXPECT_EQ(budget.choose(4, 10, known(1000)), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(budget.choose(1, 10, known(1000)), std::vector<bool>{false}) << "one of many series of one";
}

TEST(CheckBudget, ChecksTakeATwentiethOfTheTime) {
  CheckBudget budget(1);
  constexpr double kSampleUs = 100;
  constexpr double kCheckUs = 20;
  double checks_us = 0;
  double total_us = 0;
  for (int series = 0; series < 1000; ++series) {
    const double spent_us =
        kCheckUs * static_cast<double>(count(budget.choose(16, kSampleUs, known(kCheckUs))));
    budget.spend(16 * kSampleUs + spent_us, spent_us);
    checks_us += spent_us;
    total_us += 16 * kSampleUs + spent_us;
  }
  EXPECT_LT(checks_us, 0.0501 * total_us);
  EXPECT_GT(checks_us, 0.045 * total_us);
}

TEST(CheckBudget, WhichOnesAreCheckedDiffersFromSeriesToSeries) {
  CheckBudget budget(1);
  std::vector<int> checked(16, 0);
  for (int series = 0; series < 400; ++series) {
    const std::vector<bool> chosen = budget.choose(16, 100, known(20));
    for (std::size_t i = 0; i < chosen.size(); ++i) checked[i] += chosen[i] ? 1 : 0;
  }
  EXPECT_EQ(checked.back(), 400);
  for (std::size_t i = 0; i + 1 < checked.size(); ++i) EXPECT_GT(checked[i], 20) << i;
}

TEST(LaunchTally, SaysHowManyOfHowMany) {
  EXPECT_TRUE(carries((LaunchTally{.checked = 11, .wrong = 1, .first_fault = "C is off"}).reason(),
                      {"1 of 11", "is wrong", "C is off"}));
  EXPECT_TRUE(carries((LaunchTally{.checked = 11, .wrong = 2, .first_fault = "C is off"}).reason(),
                      {"2 of 11", "are wrong", "C is off"}));
}

TEST(LaunchTally, DropsResultsButKnowsThatChecksWereQueued) {
  LaunchTally tally = known(40);
  tally.checked = 5;
  tally.wrong = 2;
  tally.first_fault = "relative error 0.5 of C";
  tally.drop_checks();
  EXPECT_EQ(tally.wrong, 0U);
  EXPECT_EQ(tally.queued, 1U);
  tally.checked = tally.wrong = 1;
  tally.first_fault = "relative error 0.1 of C";
  EXPECT_TRUE(carries(tally.reason(), {"1 of 1", "relative error 0.1 of C"}));
}

constexpr ErrorLimits kLimits{10, 0.01};

Workload::SizedBuffer output(BufferRole role) { return {"C", ElementType::f16, 10000, role}; }

TEST(LaunchCheck, ElementsThatWereNotWrittenAreNamedWhereTheyExplainTheFault) {
  const LaunchCheck check{1e6, 30, 0, 300, 299};
  ASSERT_TRUE(is_wrong(output(BufferRole::out), check, kLimits));
  EXPECT_TRUE(carries(describe(output(BufferRole::out), check, kLimits), {"299 of 10000", "of C"}));
}

TEST(LaunchCheck, AWrongElementMayHoldTheFillByChance) {
  const LaunchCheck check{1e6, 30, 0, 9000, 3};
  EXPECT_TRUE(carries(describe(output(BufferRole::out), check, kLimits), {"1 of C", "0.01", "30"}));
  EXPECT_TRUE(carries(describe(output(BufferRole::out), {0, 0, 200, 3, 3}, kLimits),
                      {"200 of 10000", "of C", "a number"}));
}

TEST(LaunchCheck, WhatIsReadAndWrittenIsNotFilled) {
  EXPECT_TRUE(
      carries(describe(output(BufferRole::inout), {1e6, 30, 0, 3, 3}, kLimits), {"1 of C", "0.01", "30"}));
}

}  // namespace launch_checks_test
}  // namespace tiletune
