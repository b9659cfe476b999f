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

}  // namespace size_check_test
}  // namespace tiletune
