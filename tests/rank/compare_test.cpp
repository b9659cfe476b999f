#include "rank/compare.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "rank/compared.h"

namespace tiletune {
namespace {

using Names = std::vector<std::string>;

/// Two GPUs that share three configurations of four.
std::vector<Trial> two_gpus() {
  return {on("A", 1, 100), on("A", 2, 125), on("A", 3, 200), on("A", 4, 400),
          on("B", 1, 80),  on("B", 2, 50),  on("B", 3, 40)};
}

TEST(Compare, TheBestOfEachIsAFractionOfTheBestOfTheOther) {
  const Compared compared(CompareBy::gpu, two_gpus());
  EXPECT_EQ(compared.names(), (Names{"A", "B"}));
  const ComparedProblem& problem = compared.only_problem();
  EXPECT_EQ(problem.problem, "64x64x64");
  EXPECT_EQ(problem.conditions, "gemm, cold");
  const Portability& of_a = problem.best_of[0];
  EXPECT_EQ(of_a.on[0].efficiency, 1);
  EXPECT_TRUE(of_a.on[0].is_with_best);
  EXPECT_EQ(of_a.on[1].efficiency, 0.5);
  EXPECT_EQ(of_a.on[1].time_us, 80);
  EXPECT_EQ(of_a.on[1].id, 4);
  EXPECT_FALSE(of_a.on[1].is_with_best);
  EXPECT_EQ(of_a.minimum, 0.5);
  EXPECT_DOUBLE_EQ(*of_a.harmonic_mean, 2 / 3.0);
  EXPECT_DOUBLE_EQ(*of_a.pennycook, 2 / 3.0);
  EXPECT_EQ(problem.best_of[1].on[0].efficiency, 0.5);
  EXPECT_EQ(problem.sides[0].ran, 4U);
  EXPECT_FALSE(compared.comparison.mixes_sources());
}

TEST(Compare, ACompromiseServesAllSides) {
  const Compared compared(CompareBy::gpu, two_gpus());
  const ComparedProblem& problem = compared.only_problem();
  EXPECT_EQ(problem.common, 3U);
  // X=2: 0.8 on A and 0.8 on B, against 1 and 0.5 of the others.
  EXPECT_EQ(problem.compromise->on[0].id, 1);
  EXPECT_DOUBLE_EQ(*problem.compromise->pennycook, 0.8);
  EXPECT_DOUBLE_EQ(*problem.safest->minimum, 0.8);
}

TEST(Compare, TheLargestMeanAndTheLargestMinimumMayBeOfDifferentConfigurations) {
  // Over A and B: X=3 has 1 and 0.6, the harmonic mean 0.75; X=4 has 0.7 and 0.7.
  const Compared compared(CompareBy::gpu, {on("A", 1, 70), on("A", 3, 70), on("A", 4, 100), on("B", 2, 42),
                                           on("B", 3, 70), on("B", 4, 60)});
  const ComparedProblem& problem = compared.only_problem();
  EXPECT_EQ(problem.compromise->on[0].id, 1);
  EXPECT_DOUBLE_EQ(*problem.compromise->pennycook, 0.75);
  EXPECT_EQ(problem.safest->on[0].id, 2);
  EXPECT_DOUBLE_EQ(*problem.safest->minimum, 0.7);
}

TEST(Compare, PairsAreComparedByWhatRanOnBoth) {
  const Compared compared(CompareBy::gpu, two_gpus());
  const ComparedProblem& problem = compared.only_problem();
  ASSERT_EQ(problem.pairs.size(), 1U);
  EXPECT_EQ(problem.pairs[0].common, 3U);
  EXPECT_DOUBLE_EQ(*problem.pairs[0].spearman, -1);
  EXPECT_EQ(problem.pairs[0].top, 1U);
  EXPECT_EQ(problem.pairs[0].top_shared, 0U);
}

TEST(Compare, WhatDoesNotRunIsWorthNothingAndWhatIsUnmeasuredIsUnknown) {
  const Compared compared(CompareBy::gpu, {on("A", 1, 100), with_outcome(on("B", 1, 0), Outcome::refused),
                                           on("B", 2, 50), on("C", 1, 10), on("C", 3, 5)});
  const ComparedProblem& problem = compared.only_problem();
  const Portability& of_a = problem.best_of[0];
  EXPECT_EQ(of_a.on[1].known, Known::failed);
  EXPECT_EQ(of_a.on[1].id, 1);
  EXPECT_EQ(of_a.minimum, 0.0);
  EXPECT_EQ(of_a.pennycook, 0.0);
  EXPECT_DOUBLE_EQ(*of_a.harmonic_mean, 2 / 3.0) << "1 and 0.5";
  const Portability& of_b = problem.best_of[1];
  EXPECT_EQ(of_b.on[0].known, Known::unmeasured);
  EXPECT_EQ(of_b.pennycook, std::nullopt);
  EXPECT_EQ(of_b.minimum, 1.0) << "of what is known";
  EXPECT_EQ(problem.sides[1].failed, 1U);
  EXPECT_FALSE(problem.compromise);
  EXPECT_EQ(problem.common, 0U);
}

TEST(Compare, UnmeasuredTransfersAreListedAlsoOfProblemsThatASideLacks) {
  std::vector<Trial> rows{on("A", 1, 100), on("B", 2, 50), on("A", 7, 100)};
  rows[2].problem = "8x8x8";
  const Compared compared(CompareBy::gpu, rows);
  Names found;
  for (const UnmeasuredTransfer& transfer : unmeasured_transfers(compared.comparison)) {
    found.push_back(compared.comparison.problems[transfer.problem].problem + " " +
                    compared.names()[transfer.from] + " to " + compared.names()[transfer.to] + " " +
                    compared.trials[transfer.id].parameters);
  }
  EXPECT_EQ(found,
            (Names{"64x64x64 A to B {\"X\":1}", "64x64x64 B to A {\"X\":2}", "8x8x8 A to B {\"X\":7}"}));
}

TEST(Compare, WhatWasScreenedOutHasItsRoughTime) {
  const Compared compared(CompareBy::gpu, {on("A", 1, 100), on("B", 2, 50),
                                           with_outcome(on("B", 1, 200), Outcome::screened_out)});
  const ComparedProblem& problem = compared.only_problem();
  EXPECT_EQ(problem.best_of[0].on[1].known, Known::screened);
  EXPECT_EQ(problem.best_of[0].on[1].efficiency, 0.25);
  EXPECT_EQ(problem.sides[1].screened, 1U);
}

TEST(Compare, TheBestIsTheRankingsChoiceAmongThoseThatTie) {
  std::vector<Trial> rows{on("A", 1, 100), on("A", 2, 101), on("B", 1, 10)};
  for (Trial& row : rows) {
    row.ci_low_us = *row.median_us - 1;
    row.ci_high_us = *row.median_us + 1;
  }
  rows[0].registers = 200;
  rows[1].registers = 100;
  const Compared compared(CompareBy::gpu, rows);
  const ComparedProblem& problem = compared.only_problem();
  EXPECT_EQ(problem.best_of[0].on[0].id, 1) << "fewer registers";
  EXPECT_DOUBLE_EQ(problem.best_of[0].on[0].efficiency, 100 / 101.0);
  EXPECT_TRUE(problem.best_of[0].on[0].is_with_best);
  EXPECT_EQ(problem.sides[0].tied, 1U);
  EXPECT_TRUE(problem.best_of[1].on[0].is_with_best) << "X=1 ties on A";
}

TEST(Compare, PredictionsStandBesideMeasurementsOfEachStateOfTheCache) {
  std::vector<Trial> rows{predicted_on("A", 1, 9), on("B", 1, 5), on("B", 2, 4)};
  rows[2].cache = "warm";
  const Compared compared(CompareBy::gpu, rows);
  ASSERT_EQ(compared.comparison.problems.size(), 2U);
  EXPECT_EQ(compared.comparison.problems[0].conditions, "gemm, cold");
  EXPECT_EQ(compared.comparison.problems[0].best_of[0].on[1].id, 1);
  EXPECT_EQ(compared.comparison.problems[1].conditions, "gemm, warm");
  EXPECT_EQ(compared.comparison.problems[1].best_of[0].on[1].known, Known::unmeasured);
  EXPECT_TRUE(compared.comparison.mixes_sources());
  EXPECT_EQ(compared.comparison.problems[0].sides[0].source, Source::predicted);
}

TEST(Compare, ASideTakesTheSourceThatCanBeTrustedMost) {
  const GpuAlias alias = [](const std::string& gpu) { return gpu == "NVIDIA A" ? "A" : gpu; };
  const Compared compared(CompareBy::gpu, {predicted_on("A", 1, 1), on("NVIDIA A", 1, 9), on("B", 1, 5)}, {},
                          alias);
  const ComparedProblem& problem = compared.only_problem();
  ASSERT_EQ(problem.sides.size(), 2U) << "one GPU under two names";
  EXPECT_EQ(problem.sides[0].source, Source::measured);
  EXPECT_EQ(problem.best_of[0].on[0].time_us, 9);
  EXPECT_EQ(problem.sides[0].left_out, std::set<Source>{Source::predicted});
  EXPECT_FALSE(compared.comparison.mixes_sources());
}

TEST(Compare, BySourceAPredictionIsComparedWithTheMeasurement) {
  const GpuAlias alias = [](const std::string&) { return "A"; };
  const Compared compared(CompareBy::source, {predicted_on("A", 1, 8), on("NVIDIA A", 1, 9)}, {}, alias);
  EXPECT_EQ(compared.names(), (Names{"measured", "predicted"}));
  EXPECT_EQ(compared.only_problem().best_of[0].on[1].time_us, 8);
  EXPECT_TRUE(compared.comparison.mixes_sources());
}

TEST(Compare, DriversAreComparedGpuByGpu) {
  std::vector<Trial> rows{on("A", 1, 100), on("A", 1, 110), on("B", 1, 50), on("B", 1, 49), on("B", 2, 1)};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].driver_version = i % 2 == 0 ? "580.95" : "1000.1";
  rows[4].driver_version.clear();
  const Compared compared(CompareBy::driver, rows);
  EXPECT_EQ(compared.names(), (Names{"580.95", "1000.1"})) << "by number";
  ASSERT_EQ(compared.comparison.problems.size(), 2U);
  EXPECT_EQ(compared.comparison.problems[0].gpu, "A");
  EXPECT_EQ(compared.comparison.problems[0].best_of[1].on[1].time_us, 110);
  EXPECT_EQ(compared.comparison.problems[1].best_of[0].on[0].time_us, 50)
      << "a row without a driver is on no side";
}

TEST(Compare, DaysSweepsAndDatabasesAreSidesToo) {
  std::vector<Trial> rows{on("A", 1, 100), on("A", 1, 110)};
  rows[0].recorded_at = "2026-11-21T23:59:59Z";
  rows[1].recorded_at = "2026-11-22T00:00:00Z";
  rows[0].sweep_id = 9;
  rows[1].sweep_id = 10;
  rows[1].host = "b.db";
  EXPECT_EQ(Compared(CompareBy::date, rows).names(), (Names{"2026-11-21", "2026-11-22"}));
  EXPECT_EQ(Compared(CompareBy::sweep, rows).names(), (Names{"9", "10"}));
  EXPECT_EQ(Compared(CompareBy::database, rows).names(), (Names{"a.db", "b.db"}));
  EXPECT_EQ(Compared(CompareBy::date, rows, {"2026-11-22", "2026-11-21"}).names(),
            (Names{"2026-11-22", "2026-11-21"}))
      << "as asked for";
}

TEST(Compare, AGpuIsNamedByAPartAndByItsWholeNameAlone) {
  const std::vector<Trial> rows{on("A6000", 1, 1), on("A6000_original", 1, 1), on("NVIDIA H200", 1, 1)};
  EXPECT_EQ(Compared(CompareBy::gpu, rows, {"h200", "a6000"}).names(), (Names{"NVIDIA H200", "A6000"}));
  EXPECT_EQ(Compared(CompareBy::gpu, rows, {"H200", "a60"}).names(),
            (Names{"NVIDIA H200", "A6000", "A6000_original"}));
  try {
    const Compared compared(CompareBy::gpu, rows, {"B100"});
    FAIL() << "there is none";
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "no row is of the gpu 'B100'");
    EXPECT_EQ(error.remedy(), "Recorded: A6000, A6000_original, NVIDIA H200.");
  }
}

/// On B only X is recorded, in another spacing.
std::vector<Trial> with_unequal_parameters() {
  std::vector<Trial> rows{on("A", 1, 100), on("A", 1, 60), on("A", 2, 90), on("B", 1, 30), on("B", 2, 10)};
  rows[0].parameters = R"({"X":1,"Y":"a,}"})";
  rows[1].parameters = R"({"X":1,"Y":"b"})";
  rows[2].parameters = R"({"X":2,"Y":"b"})";
  rows[4].parameters = R"({ "X": 2 })";
  return rows;
}

TEST(Compare, OtherParametersAreJoinedByTheCommonOnesAndTheFastestCounts) {
  const Compared compared(CompareBy::gpu, with_unequal_parameters());
  const ComparedProblem& problem = compared.only_problem();
  ASSERT_EQ(problem.joined.size(), 1U);
  EXPECT_EQ(problem.joined[0].common, (std::set<std::string, std::less<>>{"X"}));
  EXPECT_EQ(problem.joined[0].ignored, (std::set<std::string, std::less<>>{"Y"}));
  EXPECT_EQ(problem.common, 2U);
  EXPECT_EQ(problem.best_of[0].on[0].id, 1);
  EXPECT_DOUBLE_EQ(problem.best_of[0].on[1].efficiency, 10 / 30.0);
  EXPECT_DOUBLE_EQ(problem.best_of[1].on[0].efficiency, 60 / 90.0);
}

TEST(Compare, TheOrderOfParametersDoesNotTellConfigurationsApart) {
  std::vector<Trial> rows{on("A", 1, 100), on("B", 1, 30)};
  rows[0].parameters = R"({"X":1,"Y":2})";
  rows[1].parameters = R"({"Y":2,"X":1})";
  const Compared compared(CompareBy::gpu, rows);
  EXPECT_EQ(compared.only_problem().common, 1U);
  EXPECT_TRUE(compared.only_problem().joined.empty()) << "nothing is ignored";
}

TEST(Compare, SlowerIsBeyondThePercentAndBeyondTheIntervals) {
  const auto measured = [](const std::string& driver, const std::string& problem, double median_us,
                           double half_us) {
    Trial trial = on("A", 1, median_us);
    trial.key += driver + problem;
    trial.driver_version = driver;
    trial.problem = problem;
    trial.ci_low_us = median_us - half_us;
    trial.ci_high_us = median_us + half_us;
    return trial;
  };
  const Compared compared(
      CompareBy::driver,
      {measured("1", "steady", 100, 1), measured("2", "steady", 104, 1), measured("1", "slow", 100, 1),
       measured("2", "slow", 106, 1), measured("1", "noisy", 100, 4), measured("2", "noisy", 106, 4),
       measured("1", "faster", 100, 1), measured("2", "faster", 90, 1), measured("1", "gone", 100, 1)});
  const std::vector<Slowdown> slower = slowdowns(compared.comparison, 5);
  ASSERT_EQ(slower.size(), 2U);
  EXPECT_EQ(compared.comparison.problems[slower[0].problem].problem, "slow");
  EXPECT_NEAR(slower[0].percent, 6, 1e-9);
  EXPECT_TRUE(slower[0].is_certain);
  EXPECT_EQ(compared.comparison.problems[slower[1].problem].problem, "noisy");
  EXPECT_FALSE(slower[1].is_certain);
}

TEST(Compare, TheNoiseFloorWidensIntervals) {
  std::vector<Trial> rows{on("A", 1, 100), on("A", 1, 106)};
  for (Trial& row : rows) {
    row.ci_low_us = row.ci_high_us = row.median_us;
    row.noise_floor_percent = 6;
  }
  rows[0].driver_version = "1";
  rows[1].driver_version = "2";
  EXPECT_FALSE(slowdowns(Compared(CompareBy::driver, rows).comparison, 5).at(0).is_certain)
      << "103 and 102.8";
  for (Trial& row : rows) row.noise_floor_percent = 5;
  EXPECT_TRUE(slowdowns(Compared(CompareBy::driver, rows).comparison, 5).at(0).is_certain)
      << "102.5 and 103.35";
}

}  // namespace
}  // namespace tiletune
