#include "tune/row.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace row_test {

TEST(Row, EnergyIsPowerTimesTheTimeOfALaunch) {
  Trial row;
  GpuCondition condition;
  condition.power_w = 500;
  add_condition(row, condition);
  EXPECT_EQ(row.energy_mj, std::nullopt) << "it was not timed";
  row.median_us = 200;
  add_condition(row, condition);
  EXPECT_DOUBLE_EQ(row.energy_mj.value(), 100);
  condition.power_w.reset();
  row.power_w.reset();
  add_condition(row, condition);
  EXPECT_EQ(row.energy_mj, std::nullopt);
}

TEST(Row, FiguresGetIntoTheirColumnsAndNowhereElse) {
  Trial row;
  row.key = "k";
  row.power_w = 1;
  add_figures(row,
              {{"with_copies_us", 3}, {"power_w", std::nullopt}, {"median_us", 1}, {"key", 1}, {"new", 1}});
  EXPECT_EQ(row.with_copies_us, 3);
  EXPECT_EQ(row.power_w, std::nullopt);
  EXPECT_EQ(row.median_us, std::nullopt);
  EXPECT_EQ(row.key, "k");
}

TEST(Row, ASecondCopyHasNoFiguresOfWhatOnlyTheBestDo) {
  Trial original;
  original.sustained_power_w = 690;
  original.sustained_energy_mj = 70;
  original.with_copies_us = 5000;
  EXPECT_EQ(make_twin_trial(original).sustained_energy_mj, std::nullopt);
  EXPECT_EQ(make_twin_trial(original).with_copies_us, std::nullopt);
}

}  // namespace row_test
}  // namespace tiletune
