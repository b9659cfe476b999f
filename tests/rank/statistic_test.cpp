// What of a row's samples a comparison uses.

#include <gtest/gtest.h>

#include "rank/rows.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace statistic_test {

Trial sampled() {
  Trial row = timed_trial("a", 10, 1);
  row.mean_us = 20;
  row.min_us = 5;
  row.stddev_us = 3;
  row.sample_count = 9;
  row.first_median_us = 11;
  row.tflops = 8;
  return row;
}

TEST(Statistic, TheMedianIsWhatARowHas) {
  Trial row = sampled();
  EXPECT_TRUE(take_statistic(Statistic::median, row));
  EXPECT_EQ(row.median_us, 10);
  EXPECT_EQ(row.ci_low_us, sampled().ci_low_us);
}

TEST(Statistic, AMeanHasAnIntervalOfItsOwn) {
  Trial row = sampled();
  EXPECT_TRUE(take_statistic(Statistic::mean, row));
  EXPECT_EQ(row.median_us, 20);
  EXPECT_EQ(row.first_median_us, 22) << "finals are compared at the pace of before";
  EXPECT_EQ(row.tflops, 4);
  EXPECT_DOUBLE_EQ(*row.ci_low_us, 20 - 1.96);
  EXPECT_DOUBLE_EQ(*row.ci_high_us, 20 + 1.96);
}

TEST(Statistic, AMinimumHasNoInterval) {
  Trial row = sampled();
  EXPECT_TRUE(take_statistic(Statistic::min, row));
  EXPECT_EQ(row.median_us, 5);
  EXPECT_FALSE(row.ci_low_us || row.ci_high_us);
}

TEST(Statistic, ARowThatLacksItKeepsItsTime) {
  Trial row = sampled();
  row.min_us.reset();
  EXPECT_FALSE(take_statistic(Statistic::min, row));
  EXPECT_EQ(row.median_us, 10);
  Trial imported = timed_trial("b", 7, 0);
  imported.source = Source::imported;
  imported.mean_us = 7;
  imported.sample_count.reset();
  EXPECT_FALSE(take_statistic(Statistic::median, imported)) << "its time is a mean";
  EXPECT_TRUE(take_statistic(Statistic::mean, imported));
  EXPECT_EQ(imported.median_us, 7);
}

TEST(Statistic, PredictionsAndFailuresHaveNone) {
  Trial predicted = sampled();
  predicted.source = Source::predicted;
  EXPECT_TRUE(take_statistic(Statistic::min, predicted));
  EXPECT_EQ(predicted.median_us, 10);
  Trial failed;
  failed.outcome = Outcome::crashed;
  EXPECT_TRUE(take_statistic(Statistic::mean, failed));
}

}  // namespace statistic_test
}  // namespace tiletune
