#include "output/size_check.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace size_check_test {

TEST(Satisfy, SizesAreComparedWithAllConditions) {
  const std::vector<std::string> dimensions{"M", "N"};
  const std::string conditions = R"(["M % 4 == 0", "N < 100"])";
  EXPECT_EQ(satisfy({8, 99}, conditions, dimensions), true);
  EXPECT_EQ(satisfy({9, 99}, conditions, dimensions), false);
  EXPECT_EQ(satisfy({8, 100}, conditions, dimensions), false);
  EXPECT_EQ(satisfy({8, 100}, "[]", dimensions), true);
}

TEST(Satisfy, WhatIsNotKnownIsNotClaimed) {
  EXPECT_EQ(satisfy({8}, "", {"M"}), std::nullopt);
  EXPECT_EQ(satisfy({8}, R"(["M % 4 == 0", null])", {"M"}), std::nullopt);
  EXPECT_EQ(satisfy({9}, R"([null, "M % 4 == 0"])", {"M"}), false);
}

TEST(Satisfy, AConditionThatCannotBeEvaluatedDoesNotHold) {
  EXPECT_EQ(satisfy({8}, R"(["1 // (M - 8) == 0"])", {"M"}), false);
  EXPECT_EQ(satisfy({8}, R"(["Q == 0"])", {"M"}), false);
}

TEST(HoldsAlways, WhatNoSizeCanBreakIsNoCondition) {
  for (const char* condition : {"M == M", "M % 1 == 0", "(M <= 128) or true", "M <= M and (N % 1) == 0"})
    EXPECT_TRUE(holds_always(condition, {"M", "N"})) << condition;
  for (const char* condition :
       {"M == N", "M % 1 == 1", "1 % M == 0", "M % 2 == 0", "(M <= 128) or false", "M % 1 != 0",
        "M % (N - 1) == 0 or true", "M // N % 1 == 0", "M % 1 == N", "M % 1 == 0 == N"})
    EXPECT_FALSE(holds_always(condition, {"M", "N"})) << condition;
}

}  // namespace size_check_test
}  // namespace tiletune
