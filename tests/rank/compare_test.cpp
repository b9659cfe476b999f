#include "rank/compare.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "carries.h"
#include "rank/compared.h"

namespace tiletune {
namespace compare_test {

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

TEST(Compare, OperationsOfOneNameAreNotComparedWithEachOther) {
  const auto of = [](Trial trial, const std::string& hash) {
    trial.operation_hash = hash;
    return trial;
  };
  const Compared compared(CompareBy::gpu, {of(on("A", 1, 100), "01"), of(on("B", 1, 50), "02")});
  ASSERT_EQ(compared.comparison.problems.size(), 2U);
  EXPECT_EQ(compared.comparison.problems[0].conditions, "gemm, cold");
  EXPECT_EQ(compared.comparison.problems[1].conditions, "gemm#02, cold");
  EXPECT_FALSE(compared.comparison.problems[1].sides[0].has_rows);
  const Compared old(CompareBy::gpu, {of(on("A", 1, 100), "01"), on("B", 1, 50)});
  EXPECT_TRUE(old.only_problem().sides[1].has_rows) << "a row of an earlier version knows no definition";
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

TEST(Compare, WhatWasScreenedOutLeadsOnlyWhereAllWas) {
  std::vector<Trial> rows{with_outcome(on("A", 1, 120), Outcome::screened_out), on("A", 2, 110),
                          with_outcome(on("A", 3, 90), Outcome::screened_out), on("B", 1, 50),
                          on("B", 3, 50)};
  rows[0].ci_low_us = 100;
  rows[0].ci_high_us = 140;
  rows[0].registers = 20;
  rows[1].registers = 200;
  const Compared compared(CompareBy::gpu, rows);
  const ComparedProblem& problem = compared.only_problem();
  EXPECT_EQ(problem.best_of[0].on[0].id, 1);
  EXPECT_EQ(problem.sides[0].fastest.id, 1);
  EXPECT_EQ(problem.sides[0].tied, 0U);
  EXPECT_EQ(problem.best_of[1].on[0].known, Known::screened);
  EXPECT_LE(problem.best_of[1].on[0].efficiency, 1) << "a rough time is no better than the best's";
  rows.erase(rows.begin() + 1);
  EXPECT_EQ(Compared(CompareBy::gpu, rows).only_problem().best_of[0].on[0].id, 1) << "X=3, none is better";
}

TEST(Compare, OnlyWhatProvesItCannotRunIsAFailure) {
  const auto refused = [](int x, const std::string& reason) {
    Trial row = with_outcome(on("B", x, 0), Outcome::refused);
    row.reason = reason;
    return row;
  };
  std::vector<Trial> rows{on("A", 1, 100),
                          on("B", 9, 50),
                          with_outcome(on("B", 1, 0), Outcome::not_recorded),
                          with_outcome(on("B", 2, 0), Outcome::compile_timeout),
                          refused(3, "130 registers per thread > 128 of limits.max_registers"),
                          refused(4, "block of 2048 threads > 1024 that a block may have on B"),
                          with_outcome(on("B", 5, 0), Outcome::unstable)};
  const auto known_on_b = [&](int x) {
    rows[0] = on("A", x, 100);
    const Compared compared(CompareBy::gpu, rows);
    const ComparedProblem& problem = compared.only_problem();
    EXPECT_EQ(problem.sides[1].failed, 2U);
    EXPECT_EQ(problem.sides[1].undecided, 2U);
    const Portability& best = problem.best_of[0];
    EXPECT_EQ(best.pennycook.has_value(), best.on[1].known == Known::failed);
    return best.on[1].known;
  };
  EXPECT_EQ(known_on_b(1), Known::unmeasured) << "the recording lacked it";
  EXPECT_EQ(known_on_b(2), Known::unmeasured) << "the compiler needed longer than it was given";
  EXPECT_EQ(known_on_b(3), Known::unmeasured) << "the config did not want it";
  EXPECT_EQ(known_on_b(4), Known::failed);
  EXPECT_EQ(known_on_b(5), Known::failed);
}

TEST(Compare, KernelsOfOneOperationAreComparedWithEachOtherAlone) {
  std::vector<Trial> rows{on("A", 1, 100), on("A", 1, 1), on("B", 1, 50), on("B", 1, 2)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].operation = i % 2 == 0 ? "conv" : "hotspot";
  }
  const Compared compared(CompareBy::gpu, rows);
  ASSERT_EQ(compared.comparison.problems.size(), 2U);
  EXPECT_EQ(compared.comparison.problems[0].conditions, "conv, cold");
  EXPECT_EQ(compared.comparison.problems[0].best_of[0].on[1].time_us, 50);
}

TEST(Compare, TakesAsManySidesAsCanBeWritten) {
  std::vector<Trial> rows;
  for (std::size_t i = 0; i < kMostSides; ++i) rows.push_back(on("GPU " + std::to_string(i), 1, 100));
  EXPECT_EQ(Compared(CompareBy::gpu, rows).comparison.sides.size(), kMostSides);
  rows.push_back(on("one more", 1, 100));
  EXPECT_THROW(Compared(CompareBy::gpu, rows), UserError);
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
  EXPECT_EQ(problem.best_of[0].on[0].efficiency, 1) << "X=1 cannot be distinguished from it";
  EXPECT_TRUE(problem.best_of[0].on[0].is_with_best);
  EXPECT_EQ(problem.sides[0].tied, 1U);
  EXPECT_TRUE(problem.best_of[1].on[0].is_with_best) << "X=1 ties on A";
  EXPECT_EQ(problem.best_of[1].on[0].efficiency, 1) << "not more than the best's";
  EXPECT_EQ(problem.sides[0].fastest.id, 0);
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

TEST(Compare, AGpuIsNamedByWordsAndByItsWholeNameAlone) {
  const std::vector<Trial> rows{on("A6000", 1, 1), on("A6000_original", 1, 1), on("NVIDIA H200", 1, 1)};
  EXPECT_EQ(Compared(CompareBy::gpu, rows, {"h200", "a6000"}).names(), (Names{"NVIDIA H200", "A6000"}));
  EXPECT_EQ(Compared(CompareBy::gpu, rows, {"H200", "original"}).names(),
            (Names{"NVIDIA H200", "A6000_original"}));
  try {
    const Compared compared(CompareBy::gpu, rows, {"B100"});
    FAIL() << "there is none";
  } catch (const UserError& error) {
    EXPECT_TRUE(carries(error.message(), {"gpu 'B100'"}));
    EXPECT_TRUE(carries(error.remedy(), {"A6000, A6000_original, NVIDIA H200", "--predict CONFIG"}));
  }
}

}  // namespace compare_test
}  // namespace tiletune
