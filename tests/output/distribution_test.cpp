#include <gtest/gtest.h>

#include <numeric>

#include "base/statistics.h"

namespace tiletune {
namespace distribution_test {

std::size_t total(const std::vector<HistogramBin>& bins) {
  return std::accumulate(bins.begin(), bins.end(), std::size_t{0},
                         [](std::size_t sum, const HistogramBin& bin) { return sum + bin.count; });
}

TEST(Distribution, QuartilesLieBetweenOrderStatistics) {
  const Quartiles of_five = quartiles({5, 1, 4, 2, 3});
  EXPECT_EQ(of_five.lower, 2);
  EXPECT_EQ(of_five.upper, 4);
  const Quartiles of_four = quartiles({1, 2, 3, 4});
  EXPECT_EQ(of_four.lower, 1.75);
  EXPECT_EQ(of_four.upper, 3.25);
  EXPECT_EQ(quartiles({7}).lower, 7);
  EXPECT_EQ(quartiles({7}).upper, 7);
}

TEST(Distribution, BinsCountEveryValueOnce) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(100 + i);
  const auto bins = histogram(values, 10);
  ASSERT_EQ(bins.size(), 10U);
  EXPECT_EQ(total(bins), 100U);
  for (const HistogramBin& bin : bins) EXPECT_EQ(bin.count, 10U) << bin.low;
  EXPECT_EQ(bins.front().low, 100);
  EXPECT_EQ(bins.back().high, 199);
}

TEST(Distribution, AnOutlierDoesNotFlattenTheOthers) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(10 + 0.01 * i);
  values.push_back(5000);
  const auto bins = histogram(values, 8);
  ASSERT_EQ(bins.size(), 8U);
  EXPECT_EQ(total(bins), values.size());
  EXPECT_EQ(bins.back().high, 5000) << "the last bin reaches to the extreme";
  EXPECT_LT(bins.back().low, 12) << "and starts where the others end";
  EXPECT_EQ(bins.back().count, 1U);
}

TEST(Distribution, EqualValuesAreOneBin) {
  const auto bins = histogram({3, 3, 3}, 10);
  ASSERT_EQ(bins.size(), 1U);
  EXPECT_EQ(bins.front().count, 3U);
  EXPECT_EQ(histogram_lines(bins, 6), std::vector<std::string>{"3.000 .. 3.000  ###### 3"});
  EXPECT_TRUE(histogram({}, 10).empty());
  // Most values are equal: without an interquartile range nothing is an outlier.
  const auto spike = histogram({3, 3, 3, 3, 3, 3, 3, 4}, 4);
  EXPECT_EQ(spike.front().count, 7U);
  EXPECT_EQ(spike.back().count, 1U);
}

TEST(Distribution, LinesAreAlignedAndEveryValueLeavesAMark) {
  const auto lines = histogram_lines({{9.5, 10, 40}, {10, 10.5, 0}, {10.5, 11, 1}}, 8);
  EXPECT_EQ(lines, (std::vector<std::string>{" 9.50 .. 10.00  ######## 40", "10.00 .. 10.50  0",
                                             "10.50 .. 11.00  # 1"}));
}

}  // namespace distribution_test
}  // namespace tiletune
