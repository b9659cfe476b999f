// What `--fail-above` fails by.

#include <gtest/gtest.h>

#include "rank/compared.h"

namespace tiletune {
namespace regressions_test {

Trial measured(const std::string& driver, const std::string& problem, double median_us, double half_us,
               int x = 1) {
  Trial trial = on("A", x, median_us);
  trial.key += driver + problem;
  trial.driver_version = driver;
  trial.problem = problem;
  trial.ci_low_us = median_us - half_us;
  trial.ci_high_us = median_us + half_us;
  return trial;
}

TEST(Slowdowns, AreBeyondThePercentAndBeyondTheIntervals) {
  const Compared compared(
      CompareBy::driver,
      {measured("1", "steady", 100, 1), measured("2", "steady", 104, 1), measured("1", "slow", 100, 1),
       measured("2", "slow", 106, 1), measured("1", "noisy", 100, 4), measured("2", "noisy", 106, 4),
       measured("1", "faster", 100, 1), measured("2", "faster", 90, 1), measured("1", "gone", 100, 1),
       measured("2", "new", 100, 1)});
  const std::vector<Slowdown> slower = slowdowns(compared.comparison, 5);
  ASSERT_EQ(slower.size(), 2U);
  EXPECT_EQ(compared.comparison.problems[slower[0].problem].problem, "slow");
  EXPECT_NEAR(*slower[0].percent, 6, 1e-9);
  EXPECT_TRUE(slower[0].is_certain);
  EXPECT_EQ(compared.comparison.problems[slower[1].problem].problem, "noisy");
  EXPECT_FALSE(slower[1].is_certain);
  const std::vector<Unchecked> lacking = unchecked(compared.comparison);
  ASSERT_EQ(lacking.size(), 1U) << "what is new has nothing to be checked against";
  EXPECT_EQ(compared.comparison.problems[lacking[0].problem].problem, "gone");
  EXPECT_EQ(lacking[0].side, 1U);
}

TEST(Slowdowns, AreOfTheFastestWhicheverTheRankingPrefers) {
  std::vector<Trial> rows{measured("1", "p", 100, 1), measured("1", "p", 107, 8, 2),
                          measured("2", "p", 112, 1)};
  rows[0].registers = 200;
  rows[1].registers = 100;
  const Compared compared(CompareBy::driver, rows);
  EXPECT_EQ(compared.only_problem().best_of[0].on[0].id, 1) << "fewer registers";
  const std::vector<Slowdown> slower = slowdowns(compared.comparison, 5);
  ASSERT_EQ(slower.size(), 1U);
  EXPECT_NEAR(*slower[0].percent, 12, 1e-9);
  EXPECT_TRUE(slower[0].is_certain);
}

TEST(Slowdowns, HaveWhatNoLongerRuns) {
  std::vector<Trial> rows{measured("1", "p", 100, 1), measured("1", "p", 101, 1, 2), measured("2", "p", 0, 0),
                          measured("2", "p", 0, 0, 2)};
  rows[2].outcome = Outcome::wrong_result;
  rows[3].outcome = Outcome::compile_timeout;
  const Compared compared(CompareBy::driver, rows);
  const std::vector<Slowdown> slower = slowdowns(compared.comparison, 5);
  ASSERT_EQ(slower.size(), 1U);
  EXPECT_EQ(slower[0].percent, std::nullopt);
  EXPECT_TRUE(slower[0].is_certain);
  EXPECT_TRUE(unchecked(compared.comparison).empty());
  EXPECT_EQ(compared.only_problem().best_of[0].on[1].known, Known::failed);

  rows[0].outcome = rows[1].outcome = Outcome::wrong_result;
  rows[2].outcome = Outcome::ok;
  rows[2].median_us = 100;
  EXPECT_TRUE(slowdowns(Compared(CompareBy::driver, rows).comparison, 5).empty()) << "it runs now";
  rows[2].outcome = Outcome::wrong_result;
  EXPECT_TRUE(Compared(CompareBy::driver, rows).comparison.problems.empty()) << "it never ran";
}

TEST(Slowdowns, SayWhetherAnythingIsKnownOfTheNoise) {
  std::vector<Trial> rows{measured("1", "p", 100, 0), measured("2", "p", 110, 0)};
  EXPECT_FALSE(slowdowns(Compared(CompareBy::driver, rows).comparison, 5).at(0).has_intervals);
  rows[0].ci_low_us = 99;
  EXPECT_TRUE(slowdowns(Compared(CompareBy::driver, rows).comparison, 5).at(0).has_intervals);
}

TEST(Slowdowns, TheNoiseFloorWidensIntervals) {
  std::vector<Trial> rows{measured("1", "p", 100, 0), measured("2", "p", 106, 0)};
  for (Trial& row : rows) row.noise_floor_percent = 6;
  EXPECT_FALSE(slowdowns(Compared(CompareBy::driver, rows).comparison, 5).at(0).is_certain)
      << "103 and 102.8";
  for (Trial& row : rows) row.noise_floor_percent = 5;
  EXPECT_TRUE(slowdowns(Compared(CompareBy::driver, rows).comparison, 5).at(0).is_certain)
      << "102.5 and 103.35";
}

}  // namespace regressions_test
}  // namespace tiletune
