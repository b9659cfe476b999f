#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/statistics.h"
#include "rank/compare.h"

namespace tiletune {
namespace portability_test {

using Values = std::vector<double>;

TEST(Portability, PennycooksMetricIsTheHarmonicMeanAndZeroWhereAPlatformFails) {
  EXPECT_DOUBLE_EQ(*pennycook(Values{1, 0.5}), 2 / 3.0);
  EXPECT_DOUBLE_EQ(*pennycook(Values{0.5, 0.25, 1}), 3 / 7.0);
  EXPECT_EQ(pennycook(Values{1, 0, 1}), 0.0);
  EXPECT_EQ(pennycook(Values{}), std::nullopt);
}

TEST(Portability, SpearmanComparesRanksOnly) {
  EXPECT_DOUBLE_EQ(*spearman(Values{1, 2, 3}, Values{10, 1000, 1e6}), 1);
  EXPECT_DOUBLE_EQ(*spearman(Values{1, 2, 3}, Values{3, 2, 1}), -1);
  // 1 - 6 * (1 + 1 + 0 + 1 + 1) / (5 * 24)
  EXPECT_DOUBLE_EQ(*spearman(Values{1, 2, 3, 4, 5}, Values{2, 1, 3, 5, 4}), 0.8);
}

TEST(Portability, EqualValuesShareTheMeanOfTheirRanks) {
  // Ranks 0 1.5 1.5 3 and 0 1 2 3: 4.5 / sqrt(4.5 * 5).
  EXPECT_DOUBLE_EQ(*spearman(Values{1, 2, 2, 9}, Values{1, 2, 3, 4}), 4.5 / std::sqrt(22.5));
}

TEST(Portability, NothingCorrelatesWithWhatDoesNotVary) {
  EXPECT_EQ(spearman(Values{1, 1}, Values{1, 2}), std::nullopt);
  EXPECT_EQ(spearman(Values{1}, Values{1}), std::nullopt);
  EXPECT_EQ(spearman(Values{}, Values{}), std::nullopt);
}

TEST(Portability, TheFastestPercentIsRoundedUp) {
  EXPECT_EQ(top_percent(0), 0U);
  EXPECT_EQ(top_percent(1), 1U);
  EXPECT_EQ(top_percent(100), 1U);
  EXPECT_EQ(top_percent(101), 2U);
  EXPECT_EQ(shared_of_smallest(Values{1, 2, 3, 4}, Values{4, 1, 2, 3}, 2), 1);
  EXPECT_EQ(shared_of_smallest(Values{1, 2}, Values{2, 1}, 1), 0);
  EXPECT_EQ(shared_of_smallest(Values{}, Values{}, 0), 0);
}

TEST(Portability, WhatTiesForTheLastPlaceCountsAsAFractionWhateverItsPlace) {
  // 1 is in for certain; each 5 has one chance in two on both sides.
  EXPECT_DOUBLE_EQ(shared_of_smallest(Values{5, 5, 1}, Values{5, 5, 1}, 2), 1 + 2 * 0.25);
  EXPECT_DOUBLE_EQ(shared_of_smallest(Values{1, 2, 2}, Values{9, 1, 2}, 1), 0);
  EXPECT_DOUBLE_EQ(shared_of_smallest(Values{2, 2, 3}, Values{1, 9, 9}, 1), 0.5);
  EXPECT_DOUBLE_EQ(shared_of_smallest(Values{2, 2, 3}, Values{9, 1, 9}, 1), 0.5);
}

}  // namespace portability_test
}  // namespace tiletune
