// What `compare` says of a later side's fastest configuration, and what `--fail-above` fails by.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>

#include "base/statistics.h"
#include "rank/compared.h"
#include "temporary_folder.h"

namespace tiletune {
namespace regressions_test {

/// Rows of finals, whose noise floor is far below the noise between sweeps.
Trial measured(const std::string& driver, const std::string& problem, double median_us, double half_us,
               int x = 1) {
  Trial trial = on("A", x, median_us);
  trial.key += driver + problem;
  trial.driver_version = driver;
  trial.problem = problem;
  trial.ci_low_us = median_us - half_us;
  trial.ci_high_us = median_us + half_us;
  trial.noise_floor_percent = 0.2;
  return trial;
}

/// Drivers as a database has them.
Comparison compared(const std::vector<Trial>& rows, Statistic statistic = Statistic::median) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Database::Mode::read_write);
  database.record_all(rows);
  return compare_databases(Databases({&database}), {CompareBy::driver, {}, {}, {"a.db"}, statistic},
                           [](const std::string& gpu) { return gpu; });
}

/// Of the only problem.
Difference difference_of(const std::vector<Trial>& rows) {
  const Comparison comparison = compared(rows);
  EXPECT_EQ(comparison.problems.size(), 1U);
  return comparison.problems.at(0).sides.at(1).difference.value();
}

Difference difference_of(double before_us, double now_us) {
  return difference_of({measured("1", "p", before_us, 0), measured("2", "p", now_us, 0)});
}

TEST(Difference, IsTheRatioOfTheFastestWithTheNoiseBetweenSweeps) {
  const Difference slower = difference_of(100, 103);
  EXPECT_NEAR(slower.percent, 3, 1e-9);
  EXPECT_NEAR(slower.low_percent, 100 * (1.03 * std::exp(-0.0075) - 1), 1e-3);
  EXPECT_NEAR(slower.high_percent, 100 * (1.03 * std::exp(0.0075) - 1), 1e-3);
  EXPECT_EQ(slower.noise_percent, kNoiseBetweenSweepsPercent);
}

TEST(Difference, TheIntervalsOfBothMediansAddToItAsSquares) {
  const Difference wide = difference_of({measured("1", "p", 100, 3), measured("2", "p", 100, 4)});
  // The ranking widens each by half the noise floor, which does not count twice.
  EXPECT_NEAR(wide.high_percent, 100 * std::expm1(std::hypot(0.03, 0.04, 0.0075)), 0.01);
  EXPECT_NEAR(wide.low_percent, 100 * std::expm1(-std::hypot(0.03, 0.04, 0.0075)), 0.01);
  EXPECT_EQ(wide.verdict, Verdict::unclear);
}

TEST(Difference, IsOfTheWholeIntervalAgainstTheNoise) {
  EXPECT_EQ(difference_of(100, 100).verdict, Verdict::same);
  EXPECT_EQ(difference_of(100, 100.7).verdict, Verdict::same);
  EXPECT_EQ(difference_of(100, 101.1).verdict, Verdict::unclear);
  EXPECT_EQ(difference_of(100, 101.6).verdict, Verdict::slower);
  EXPECT_EQ(difference_of(100, 98.9).verdict, Verdict::unclear);
  EXPECT_EQ(difference_of(100, 98.4).verdict, Verdict::faster);
}

TEST(Difference, IsNeverTheSameWhereTheNoiseFloorIsLarge) {
  std::vector<Trial> rows{measured("1", "p", 100, 0), measured("2", "p", 100, 0)};
  rows[1].noise_floor_percent = 2;
  const Difference difference = difference_of(rows);
  EXPECT_EQ(difference.noise_percent, 2);
  EXPECT_EQ(difference.verdict, Verdict::unclear);
}

TEST(Difference, AssumesTheNoiseWhereNoFinalsMeasuredIt) {
  std::vector<Trial> rows{measured("1", "p", 100, 0), measured("2", "p", 101.8, 0)};
  EXPECT_EQ(difference_of(rows).verdict, Verdict::slower);
  rows[0].noise_floor_percent.reset();
  EXPECT_EQ(difference_of(rows).noise_percent, kAssumedNoisePercent);
  EXPECT_EQ(difference_of(rows).verdict, Verdict::unclear);
  rows[0].noise_floor_percent = INFINITY;
  EXPECT_EQ(difference_of(rows).verdict, Verdict::unclear) << "what no tiletune has written";
}

TEST(Difference, OfAPredictionIsUnclear) {
  std::vector<Trial> rows{measured("1", "p", 100, 1), measured("2", "p", 300, 1)};
  rows[1].source = Source::predicted;
  rows[1].predicted_us = 300;
  const Difference difference = difference_of(rows);
  EXPECT_NEAR(difference.percent, 200, 1e-9);
  EXPECT_EQ(difference.verdict, Verdict::unclear);
  EXPECT_TRUE(std::isinf(difference.high_percent));
  EXPECT_FALSE(slowdowns(compared(rows), 5).at(0).is_certain);
}

TEST(Difference, IsAgainstTheFirstSideThatRan) {
  std::vector<Trial> rows{measured("1", "p", 0, 0), measured("2", "p", 100, 1), measured("3", "p", 120, 1)};
  rows[0].outcome = Outcome::wrong_result;
  const ComparedProblem problem = compared(rows).problems.at(0);
  EXPECT_EQ(problem.first_side, 1U);
  EXPECT_FALSE(problem.sides[0].difference || problem.sides[1].difference);
  EXPECT_NEAR(problem.sides[2].difference.value().percent, 20, 1e-9);
}

TEST(Slowdowns, AreAboveThePercentWithTheirWholeInterval) {
  const Comparison comparison =
      compared({measured("1", "steady", 100, 1), measured("2", "steady", 104, 1),
                measured("1", "slow", 100, 1), measured("2", "slow", 107, 1), measured("1", "noisy", 100, 4),
                measured("2", "noisy", 107, 4), measured("1", "faster", 100, 1),
                measured("2", "faster", 90, 1), measured("1", "gone", 100, 1), measured("2", "new", 100, 1)});
  const std::vector<Slowdown> slower = slowdowns(comparison, 5);
  ASSERT_EQ(slower.size(), 2U);
  const auto expect = [&](const Slowdown& each, const std::string& problem, bool is_certain) {
    EXPECT_EQ(comparison.problems[each.problem].problem, problem);
    EXPECT_EQ(each.side, 1U);
    EXPECT_EQ(each.is_certain, is_certain) << problem;
  };
  expect(slower[0], "slow", true);
  expect(slower[1], "noisy", false);
  EXPECT_FALSE(slowdowns(comparison, 6).at(0).is_certain) << "slower, but the interval reaches below 6%";
  const std::vector<Unchecked> lacking = unchecked(comparison);
  ASSERT_EQ(lacking.size(), 1U) << "what is new has nothing to be checked against";
  EXPECT_EQ(comparison.problems[lacking[0].problem].problem, "gone");
  EXPECT_EQ(lacking[0].side, 1U);
}

TEST(Slowdowns, WithinTheNoiseAreNotCertainWhateverThePercent) {
  const Comparison comparison = compared({measured("1", "p", 100, 0), measured("2", "p", 101.1, 0)});
  EXPECT_GT(comparison.problems.at(0).sides.at(1).difference->low_percent, 0);
  EXPECT_FALSE(slowdowns(comparison, 0).at(0).is_certain);
}

TEST(Slowdowns, AreOfTheFastestWhicheverTheRankingPrefers) {
  std::vector<Trial> rows{measured("1", "p", 100, 1), measured("1", "p", 107, 8, 2),
                          measured("2", "p", 112, 1)};
  rows[0].registers = 200;
  rows[1].registers = 100;
  const Comparison comparison = compared(rows);
  EXPECT_EQ(comparison.problems.at(0).best_of[0].on[0].time_us, 107) << "fewer registers";
  EXPECT_NEAR(comparison.problems.at(0).sides[1].difference->percent, 12, 1e-9);
  EXPECT_TRUE(slowdowns(comparison, 5).at(0).is_certain);
}

TEST(Slowdowns, HaveWhatNoLongerRuns) {
  std::vector<Trial> rows{measured("1", "p", 100, 1), measured("1", "p", 101, 1, 2), measured("2", "p", 0, 0),
                          measured("2", "p", 0, 0, 2)};
  rows[2].outcome = Outcome::wrong_result;
  rows[3].outcome = Outcome::compile_timeout;
  const Comparison comparison = compared(rows);
  const std::vector<Slowdown> slower = slowdowns(comparison, 5);
  ASSERT_EQ(slower.size(), 1U);
  EXPECT_TRUE(std::isinf(comparison.problems.at(0).sides.at(1).difference->percent));
  EXPECT_TRUE(slower[0].is_certain);
  EXPECT_TRUE(unchecked(comparison).empty());
  EXPECT_EQ(comparison.problems.at(0).best_of[0].on[1].known, Known::failed);

  rows[0].outcome = rows[1].outcome = Outcome::wrong_result;
  rows[2].outcome = Outcome::ok;
  rows[2].median_us = 100;
  EXPECT_TRUE(slowdowns(compared(rows), 5).empty()) << "it runs now";
  rows[2].outcome = Outcome::wrong_result;
  EXPECT_TRUE(compared(rows).problems.empty()) << "it never ran";
}

/// What two copies of one kernel differ by at most, as their intervals have it.
double noise_floor_percent(const Timing& one, const Timing& other) {
  return 100 * std::max(one.ci_high_us / other.ci_low_us, other.ci_high_us / one.ci_low_us) - 100;
}

/// Sweeps of the same three kernels on a hundred problems. Times vary by 0.3% within a sweep, and from sweep
/// to sweep by 0.25% (standard deviations); each sweep has 56 samples of each kernel, as finals have.
class Sweeps {
 public:
  explicit Sweeps(std::uint64_t seed) : random_(seed) {}

  std::vector<Trial> rows(const std::string& driver, double time_us, bool has_finals) {
    std::vector<Trial> all;
    for (int problem = 0; problem < 100; ++problem) {
      const double of_sweep_us = time_us * (1 + 0.0025 * normal_(random_));
      for (int x = 0; x < 3; ++x) {
        const Timing timing = timed(of_sweep_us * (1 + 0.05 * x));
        Trial row = measured(driver, std::to_string(problem), timing.median_us, 0, x);
        row.ci_low_us = timing.ci_low_us;
        row.ci_high_us = timing.ci_high_us;
        row.noise_floor_percent.reset();
        if (has_finals) {
          row.timed_in = "final";
          row.noise_floor_percent = noise_floor_percent(timing, timed(of_sweep_us * (1 + 0.05 * x)));
        }
        all.push_back(row);
      }
    }
    return all;
  }

  /// Of the second sweep's kernels, which take `ratio` times as long.
  std::map<Verdict, int> verdicts(double ratio, bool has_finals) {
    std::vector<Trial> both = rows("1", 100, has_finals);
    for (Trial& row : rows("2", 100 * ratio, has_finals)) both.push_back(std::move(row));
    std::map<Verdict, int> counts;
    const Comparison comparison = compared(both);
    for (const ComparedProblem& problem : comparison.problems)
      ++counts[problem.sides.at(1).difference.value().verdict];
    certain_ = 0;
    for (const Slowdown& slower : slowdowns(comparison, 0)) certain_ += slower.is_certain ? 1 : 0;
    return counts;
  }
  int certain_slowdowns() const { return certain_; }

 private:
  Timing timed(double time_us) {
    Samples samples;
    for (int i = 0; i < 56; ++i) samples.times_us.push_back(time_us * (1 + 0.003 * normal_(random_)));
    return summarise(std::move(samples));
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  int certain_ = 0;
};

TEST(Verdicts, TheSameKernelsNeverDiffer) {
  for (const bool has_finals : {true, false}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      Sweeps sweeps(seed);
      std::map<Verdict, int> counts = sweeps.verdicts(1, has_finals);
      EXPECT_EQ(counts[Verdict::slower] + counts[Verdict::faster], 0) << "seed " << seed;
      EXPECT_GE(counts[Verdict::same], has_finals ? 85 : 70) << "seed " << seed;
      EXPECT_EQ(sweeps.certain_slowdowns(), 0) << "seed " << seed;
    }
  }
}

TEST(Verdicts, ThreePercentAreADifference) {
  for (const bool has_finals : {true, false}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      EXPECT_GE(Sweeps(seed).verdicts(1.03, has_finals)[Verdict::slower], 95) << "seed " << seed;
      EXPECT_GE(Sweeps(seed).verdicts(1 / 1.03, has_finals)[Verdict::faster], 95) << "seed " << seed;
    }
  }
}

}  // namespace regressions_test
}  // namespace tiletune
