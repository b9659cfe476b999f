// How the best time fell, of rows made by hand.

#include "rank/history.h"

#include <gtest/gtest.h>

#include "store/sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {
namespace history_test {

Trial evaluated(const std::string& key, double median_us) {
  Trial row = timed_trial(key, median_us, 0.1);
  row.parameters = "{\"K\":\"" + key + "\"}";
  row.compile_ms = 1500;
  row.measure_ms = 500;
  return row;
}

std::vector<History> of(const std::vector<Trial>& rows) {
  const TemporaryFolder folder;
  Database database(folder / "rows.db", Database::Mode::read_write);
  database.record_all(rows);
  return histories(database, {});
}

TEST(History, StepsAreTheConfigurationsThatWereFasterThanAllBefore) {
  Trial failed = evaluated("b", 1);
  failed.outcome = Outcome::compile_failed;
  failed.median_us.reset();
  failed.cache.clear();
  const auto all = of({evaluated("a", 30), failed, evaluated("c", 40), evaluated("d", 20)});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].evaluations, 4U);
  EXPECT_DOUBLE_EQ(all[0].cost_s, 8);
  ASSERT_EQ(all[0].steps.size(), 2U);
  EXPECT_EQ(all[0].steps[0].evaluation, 1U);
  EXPECT_EQ(all[0].steps[1].evaluation, 4U);
  EXPECT_DOUBLE_EQ(all[0].steps[1].cost_s, 8);
  EXPECT_DOUBLE_EQ(all[0].steps[1].best_us, 20);
}

TEST(History, WhatWasGivenUpAsSlowCountsAndIsNeverTheBest) {
  Trial screened = evaluated("a", 1);
  screened.outcome = Outcome::screened_out;
  const auto all = of({screened, evaluated("b", 20)});
  ASSERT_EQ(all.at(0).steps.size(), 1U);
  EXPECT_EQ(all[0].steps[0].evaluation, 2U);
}

TEST(History, TimesAreThoseBeforeTheFinals) {
  Trial final = evaluated("a", 10);
  final.timed_in = "final";
  final.first_median_us = 12;
  EXPECT_DOUBLE_EQ(of({final}).at(0).steps.at(0).best_us, 12);
}

TEST(History, CachesAreApartAndRowsWithoutCostAreCounted) {
  Trial warm = evaluated("b", 5);
  warm.cache = "warm";
  warm.compile_ms.reset();
  warm.measure_ms.reset();
  const auto all = of({evaluated("a", 30), warm});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].without_cost, 0U);
  EXPECT_EQ(all[1].without_cost, 1U);
}

TEST(History, OfBaselinesAndFailuresAloneThereIsNone) {
  Trial baseline = evaluated("a", 3);
  baseline.kind = "baseline";
  Trial crashed = evaluated("b", 3);
  crashed.outcome = Outcome::crashed;
  EXPECT_TRUE(of({baseline, crashed}).empty());
}

TEST(History, ThinnedStepsKeepTheEndsAndTheLargeFalls) {
  std::vector<HistoryStep> steps;
  for (int i = 0; i < 1000; ++i) steps.push_back({i, std::uint64_t(i) + 1, double(i), 1000.0 - 0.001 * i});
  steps.push_back({1000, 1001, 1000, 100});
  steps.push_back({1001, 1002, 1001, 99.9});
  steps.push_back({1002, 1003, 1002, 99.8});
  const auto kept = thinned(steps, 10);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].evaluation, 1U);
  EXPECT_EQ(kept[1].evaluation, 1001U);
  EXPECT_EQ(kept[2].evaluation, 1003U);
  EXPECT_EQ(thinned(steps, 2).size(), 2U);
  EXPECT_EQ(thinned(steps, steps.size()).size(), steps.size());
  for (int i = 0; i < 1000; ++i) steps[i].best_us = 1e6 / (i + 1);
  steps.resize(1000);
  EXPECT_LE(thinned(steps, 200).size(), 200U);
  EXPECT_GE(thinned(steps, 200).size(), 100U);
}

}  // namespace history_test
}  // namespace tiletune
