#include "measure/launch_checks.h"

#include <gtest/gtest.h>

#include <limits>

#include "carries.h"

namespace tiletune {
namespace launch_checks_test {

TEST(LaunchTally, SaysHowManyOfHowMany) {
  EXPECT_TRUE(carries((LaunchTally{.checked = 11, .wrong = 1, .first_fault = "C is off"}).reason(),
                      {"1 of 11", "is wrong", "C is off"}));
  EXPECT_TRUE(carries((LaunchTally{.checked = 11, .wrong = 2, .first_fault = "C is off"}).reason(),
                      {"2 of 11", "are wrong", "C is off"}));
}

constexpr ErrorLimits kLimits{10, 0.01};

TEST(Exceeds, WhatIsNotANumber) {
  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(exceeds(0.01, 0.009, 1, 10));
  EXPECT_TRUE(exceeds(0.01, 0.011, 1, 10));
  EXPECT_TRUE(exceeds(0.01, kNotANumber, 1, 10));
  EXPECT_TRUE(exceeds(0.01, 0.009, kNotANumber, 10));
}

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
