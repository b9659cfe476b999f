#include "rank/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "rank/ranking_rows_of.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace ranking_test {

std::vector<RankingGroup> rank_trials(const std::vector<Trial>& trials) {
  RankingRows rows = ranking_rows_of(trials);
  return rank_rows(rows);
}

Trial baseline(double median_us) {
  Trial trial = timed_trial("cublas", median_us, 0);
  trial.kind = "baseline";
  trial.template_name = "cublas";
  return trial;
}

Trial with_registers(Trial trial, std::int64_t registers) {
  trial.registers = registers;
  return trial;
}

Trial predicted(const std::string& key, double predicted_us) {
  Trial trial = timed_trial(key, 1, 1000);
  trial.source = Source::predicted;
  trial.median_us.reset();
  trial.predicted_us = predicted_us;
  return trial;
}

/// "1=a 1=b 3c -cublas": rank, "=" when tied, key.
std::string places(const RankingGroup& group, const std::vector<Trial>& trials) {
  std::string text;
  for (const RankedRow& row : group.rows) {
    if (!text.empty()) text += " ";
    text += row.rank == 0 ? "-" : std::to_string(row.rank);
    if (row.tied) text += "=";
    text += trials.at(static_cast<std::size_t>(row.id)).key;
  }
  return text;
}

std::string places_of(const std::vector<Trial>& trials) {
  const std::vector<RankingGroup> groups = rank_trials(trials);
  return groups.size() == 1 ? places(groups[0], trials) : "not one group";
}

Trial of_operation(Trial trial, const std::string& hash) {
  trial.operation = "gemm";
  trial.cache = "cold";
  trial.operation_hash = hash;
  return trial;
}

TEST(Ranking, OperationsOfOneNameRankApart) {
  const auto groups = rank_trials({of_operation(timed_trial("a", 10, 1), "0123456789abcdef"),
                                   of_operation(timed_trial("b", 20, 1), "fedcba9876543210"),
                                   of_operation(timed_trial("c", 30, 1), "0123456789abcdef")});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].rows.size(), 2U);
  EXPECT_TRUE(groups[0].tells_definition());
  EXPECT_TRUE(groups[0].conditions.starts_with("gemm#01234567, ")) << groups[0].conditions;
  EXPECT_TRUE(groups[1].conditions.starts_with("gemm#fedcba98, ")) << groups[1].conditions;
}

TEST(Ranking, ALooseToleranceIsACondition) {
  const auto groups =
      rank_trials({timed_trial("a", 10, 1), of_operation(timed_trial("b", 5, 1), "01 tolerance_factor=9")});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].conditions, "gemm, tolerance_factor=9, cold");
}

TEST(Ranking, WhatWasChosenStaysAsLongAsItTies) {
  Trial chosen = with_registers(timed_trial("a", 10.5, 1), 200);
  chosen.chosen_at = "2026-11-28T06:00:00Z";
  EXPECT_EQ(places_of({chosen, with_registers(timed_trial("b", 10, 1), 100)}), "1=a 1=b");
  Trial later = with_registers(timed_trial("b", 10, 1), 250);
  later.chosen_at = "2026-11-28T07:00:00Z";
  EXPECT_EQ(places_of({chosen, later}), "1=b 1=a") << "the last choice counts";
  chosen = timed_trial("a", 20, 1);
  chosen.chosen_at = "2026-11-28T06:00:00Z";
  EXPECT_EQ(places_of({chosen, timed_trial("b", 10, 1)}), "1b 2a");
}

TEST(Ranking, SeparateTimesRankByTime) {
  EXPECT_EQ(places_of({timed_trial("b", 20, 1), timed_trial("c", 30, 1), timed_trial("a", 10, 1)}),
            "1a 2b 3c");
}

TEST(Ranking, OverlapIsJudgedAgainstTheLeaderNotTheNeighbour) {
  // b overlaps a; c overlaps b but not a, so it opens the next rank, which d shares.
  EXPECT_EQ(places_of({timed_trial("a", 100, 2), timed_trial("b", 103, 2), timed_trial("c", 106, 2),
                       timed_trial("d", 109, 2)}),
            "1=a 1=b 3=c 3=d");
}

TEST(Ranking, IntervalsThatTouchOverlap) {
  EXPECT_EQ(places_of({timed_trial("a", 100, 2), timed_trial("b", 104, 2)}), "1=a 1=b");
}

TEST(Ranking, AWideIntervalBehindAGapTiesAndIsNoBetterChoice) {
  const Trial wide = with_registers(timed_trial("wide", 120, 50), 16);
  EXPECT_EQ(
      places_of({with_registers(timed_trial("a", 100, 1), 64), with_registers(timed_trial("b", 110, 1), 32),
                 wide, with_registers(timed_trial("c", 100.5, 1), 32)}),
      "1=c 1=a 1=wide 4b");
  EXPECT_EQ(places_of({timed_trial("a", 100, 1), wide}), "1=wide 1=a") << "nothing stands between them";
  EXPECT_EQ(places_of({timed_trial("a", 100, 1), baseline(105), timed_trial("b", 110, 1), wide}),
            "1=a -cublas 1=wide 3b");
}

/// The rule of rank/ranking.h, one rank after the other, without finals: "rank key" of each kernel.
std::multiset<std::string> ranks_one_by_one(std::vector<Trial> left) {
  std::multiset<std::string> ranks;
  std::ranges::sort(left, {}, [](const Trial& trial) { return std::pair(trial.median_us, trial.key); });
  while (!left.empty()) {
    const std::string rank = std::to_string(ranks.size() + 1);
    const double end_us = *left.front().ci_high_us;
    std::erase_if(left, [&](const Trial& trial) {
      if (*trial.ci_low_us > end_us) return false;
      ranks.insert(rank + " " + trial.key);
      return true;
    });
  }
  return ranks;
}

TEST(Ranking, ATieHasAllWhoseIntervalsOverlapTheLeaders) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<Trial> trials;
    for (int i = 0; i < 30; ++i)
      trials.push_back(
          timed_trial(std::to_string(i), 100 + random() % 40, random() % 5 == 0 ? 15 : random() % 3));
    std::multiset<std::string> ranks;
    const std::vector<RankingGroup> groups = rank_trials(trials);
    for (const RankedRow& row : groups.at(0).rows)
      ranks.insert(std::to_string(row.rank) + " " + trials.at(static_cast<std::size_t>(row.id)).key);
    ASSERT_EQ(ranks, ranks_one_by_one(trials)) << "round " << round;
  }
}

TEST(Ranking, IntervalsAreWidenedByHalfTheNoiseFloorOfEach) {
  Trial noisy = timed_trial("noisy", 101.9, 0);
  noisy.noise_floor_percent = 2;
  Trial noisier = timed_trial("noisier", 104, 0.5);
  noisier.noise_floor_percent = 7.5;
  EXPECT_EQ(places_of({timed_trial("a", 100, 0), noisy}), "1a 2noisy") << "by one alone they do not meet";
  EXPECT_EQ(places_of({timed_trial("a", 100, 0), noisier}), "1=a 1=noisier");
  Trial leader = timed_trial("leader", 100, 0);
  leader.noise_floor_percent = 2;
  EXPECT_EQ(places_of({leader, noisy}), "1=leader 1=noisy");
  noisy.noise_floor_percent = -50;
  EXPECT_EQ(places_of({leader, noisy}), "1leader 2noisy") << "a negative floor narrows nothing";
  noisy.ci_low_us.reset();
  noisy.ci_high_us.reset();
  noisy.noise_floor_percent = 2;
  EXPECT_EQ(places_of({leader, noisy}), "1=leader 1=noisy") << "the time itself is widened";
}

Trial in_finals(const std::string& key, double median_us, double half_interval_us) {
  Trial trial = timed_trial(key, median_us, half_interval_us);
  trial.timed_in = "final";
  return trial;
}

TEST(Ranking, FinalsTieAmongThemselves) {
  const Trial wide = timed_trial("wide", 101, 50);
  EXPECT_EQ(places_of({in_finals("a", 100, 1), wide}), "1a 2wide");
  EXPECT_EQ(places_of({in_finals("a", 102, 5), wide}), "1wide 2a") << "times are compared nevertheless";
  Trial sampled = wide;
  sampled.timed_in = "sampling";
  sampled.key = sampled.parameters = "sampled";
  EXPECT_EQ(places_of({in_finals("a", 100, 1), wide, sampled}), "1a 2=sampled 2=wide");
}

Trial finals_measured(const std::string& key, std::int64_t sweep, double first_us, double final_us) {
  Trial trial = in_finals(key, final_us, 0.1);
  trial.sweep_id = sweep;
  trial.first_median_us = first_us;
  return trial;
}

TEST(Ranking, WhatWasNotInTheFinalsIsComparedAtTheirPace) {
  // The GPU was a tenth slower in the finals: nobody outside overtakes the finalists for that.
  EXPECT_EQ(places_of({finals_measured("a", 1, 100, 110), finals_measured("b", 1, 101, 111),
                       timed_trial("sampled", 105, 0.1)}),
            "1a 2b 3sampled");
  // A finalist that is alone in later finals under better circumstances does not win by them.
  EXPECT_EQ(places_of({finals_measured("a", 1, 100, 100), finals_measured("b", 1, 102, 102),
                       finals_measured("benched", 2, 101.5, 99)}),
            "1a 2benched 3b");
}

TEST(Ranking, TheFinalsOfWhatWasFastestBeforeThemDecide) {
  // Later finals of slow kernels alone, in a slower hour.
  EXPECT_EQ(places_of({finals_measured("a", 1, 100, 100), finals_measured("b", 1, 101, 101),
                       finals_measured("slow", 2, 500, 600), finals_measured("slower", 2, 510, 610),
                       timed_trial("sampled", 550, 0.1)}),
            "1a 2b 3slow 4slower 5sampled");
}

TEST(Ranking, ATieOfFinalsReachesOverRowsOfAnotherHour) {
  EXPECT_EQ(places_of({in_finals("a", 100, 2), timed_trial("x", 101, 0.1), in_finals("b", 102, 2),
                       timed_trial("y", 103, 0.1), in_finals("c", 110, 1)}),
            "1=a 1=b 3x 4y 5c");
  EXPECT_EQ(places_of({timed_trial("x", 100, 2), in_finals("a", 101, 1), timed_trial("y", 102, 2),
                       in_finals("b", 102.5, 1)}),
            "1=x 1=y 3=a 3=b");
}

TEST(Ranking, TwinsNeverRank) {
  Trial twin = in_finals("twin", 99, 1);
  twin.kind = "twin";
  EXPECT_EQ(places_of({in_finals("a", 100, 1), twin}), "1a");
  EXPECT_TRUE(rank_trials({twin}).empty());
  Trial original = twin;
  original.kind = "kernel";
  original.key = "original";
  EXPECT_EQ(places_of({original, twin}), "1original") << "nor do they replace what they are copies of";
}

TEST(Ranking, WhatWasScreenedOutHasATimeButNoRank) {
  Trial screened = timed_trial("screened", 150, 1);
  screened.outcome = Outcome::screened_out;
  screened.timed_in = "screening";
  EXPECT_EQ(places_of({timed_trial("a", 100, 1), screened}), "1a");
}

TEST(Ranking, PlacesTellWhatTheRowsCarry) {
  Trial throttled = in_finals("a", 1, 0);
  throttled.discarded_samples = 3;
  Trial calm = timed_trial("b", 2, 0);
  calm.discarded_samples = 0;
  const std::vector<RankedRow> rows = rank_trials({throttled, calm}).at(0).rows;
  EXPECT_TRUE(rows.at(0).in_finals && rows.at(0).has_discards);
  EXPECT_FALSE(rows.at(1).in_finals || rows.at(1).has_discards);
}

TEST(Ranking, TwoBaselinesStandByTheirTimes) {
  Trial lt = baseline(9);
  lt.key = lt.template_name = "cublaslt";
  EXPECT_EQ(places_of({baseline(15), timed_trial("a", 10, 1), lt}), "-cublaslt 1a -cublas");
}

TEST(Ranking, WithinATieFewerRegistersThenHigherOccupancyComeFirst) {
  Trial low = with_registers(timed_trial("low", 100, 5), 64);
  low.occupancy = 0.25;
  Trial high = with_registers(timed_trial("high", 102, 5), 64);
  high.occupancy = 0.5;
  const Trial big = with_registers(timed_trial("big", 99, 5), 128);
  const Trial unknown = timed_trial("unknown", 98, 5);
  EXPECT_EQ(places_of({low, high, big, unknown}), "1=high 1=low 1=big 1=unknown");
}

TEST(Ranking, AbsentOrOneSidedIntervalsStandForTheTime) {
  Trial exact = timed_trial("exact", 100, 0);
  exact.ci_low_us.reset();
  exact.ci_high_us.reset();
  Trial same = exact;
  same.key = "same";
  same.template_name = "sgemm_same";
  Trial later = exact;
  later.key = "later";
  later.template_name = "sgemm_later";
  later.median_us = 100.001;
  EXPECT_EQ(places_of({exact, same, later}), "1=exact 1=same 3later");
}

TEST(Ranking, OrderDoesNotDependOnTheOrderOfRows) {
  EXPECT_EQ(places_of({timed_trial("b", 10, 0), timed_trial("a", 10, 0)}), "1=a 1=b");
  EXPECT_EQ(places_of({timed_trial("a", 10, 0), timed_trial("b", 10, 0)}), "1=a 1=b");
}

TEST(Ranking, BaselinesStandByTimeAndTakeNoRank) {
  EXPECT_EQ(places_of({baseline(15), timed_trial("b", 20, 1), timed_trial("a", 10, 1)}), "1a -cublas 2b");
  EXPECT_EQ(places_of({baseline(5), timed_trial("a", 10, 1)}), "-cublas 1a");
  EXPECT_EQ(places_of({baseline(50), timed_trial("a", 10, 1)}), "1a -cublas");
  EXPECT_TRUE(rank_trials({baseline(50)}).empty()) << "a baseline alone is no ranking";
}

TEST(Ranking, NoFasterKernelStandsBelowABaseline) {
  // The tie puts the slower kernel of the two first; the baseline's time lies between them.
  EXPECT_EQ(places_of({with_registers(timed_trial("fast", 100, 5), 128), baseline(101),
                       with_registers(timed_trial("small", 102, 5), 32)}),
            "1=small 1=fast -cublas");
}

TEST(Ranking, ABaselineTiesWithNobody) {
  EXPECT_EQ(places_of({baseline(10), timed_trial("a", 10, 5)}), "1a -cublas");
}

TEST(Ranking, WhatDidNotRunIsLeftOut) {
  Trial failed = timed_trial("failed", 1, 0);
  failed.outcome = Outcome::wrong_result;
  Trial timeless = timed_trial("timeless", 1, 0);
  timeless.median_us.reset();
  Trial infinite = timed_trial("infinite", std::numeric_limits<double>::infinity(), 0);
  Trial zero = timed_trial("zero", 0, 0);
  Trial nan = timed_trial("nan", std::numeric_limits<double>::quiet_NaN(), 0);
  EXPECT_EQ(places_of({failed, timeless, infinite, zero, nan, timed_trial("a", 2, 0)}), "1a");
  EXPECT_TRUE(rank_trials({failed}).empty());
  EXPECT_TRUE(rank_trials({}).empty());
}

TEST(Ranking, PredictedRowsRankByPredictionAndTieOnlyWhenEqual) {
  EXPECT_EQ(places_of({predicted("b", 11), predicted("c", 11.0001), predicted("d", 11), predicted("a", 10)}),
            "1a 2=b 2=d 4c");
}

TEST(Ranking, OfEqualRowsOnlyTheLatestCounts) {
  Trial old = timed_trial("old", 5, 0);
  old.recorded_at = "2026-11-20T10:00:00Z";
  Trial fresh = timed_trial("fresh", 10, 0);
  fresh.parameters = old.parameters;
  fresh.recorded_at = "2026-11-21T10:00:00Z";
  EXPECT_EQ(places_of({fresh, old}), "1fresh");
  fresh.recorded_at = old.recorded_at;
  EXPECT_EQ(places_of({fresh, old}), "1old") << "in the same second the one recorded last";
  fresh.template_name = "sgemm_other";
  EXPECT_EQ(places_of({fresh, old}), "1old 2fresh");
}

TEST(Ranking, ARowThatHasBecomeWrongTakesItsFormerTimeAlong) {
  Trial wrong = timed_trial("wrong", 5, 0);
  wrong.outcome = Outcome::wrong_result;
  Trial former = timed_trial("former", 5, 0);
  former.parameters = wrong.parameters;
  EXPECT_EQ(places_of({former, wrong, timed_trial("other", 10, 0)}), "1other");
  wrong.outcome = Outcome::dispatched;
  EXPECT_EQ(places_of({former, wrong, timed_trial("other", 10, 0)}), "1former 2other")
      << "what runs just now has no result yet";
}

TEST(Ranking, BaselinesAtOnePlaceStandByTheirTimes) {
  Trial slow = baseline(16);
  slow.key = "slow";
  slow.parameters = "slow";
  EXPECT_EQ(places_of({slow, timed_trial("b", 20, 1), baseline(15), timed_trial("a", 10, 1)}),
            "1a -cublas -slow 2b");
}

TEST(Ranking, KeysOrderEqualTimesToTheirLastLetter) {
  const std::string key = "0123456789abcdef0123456789abcde";
  EXPECT_EQ(places_of({timed_trial(key + "f", 10, 0), timed_trial(key + "e", 10, 0)}),
            "1=" + key + "e 1=" + key + "f");
}

TEST(Ranking, RanksCountOnPastManyRows) {
  std::vector<Trial> trials;
  for (int i = 0; i < 2000; ++i) trials.push_back(timed_trial(std::to_string(i), 4000 - i, 0));
  const std::vector<RankingGroup> groups = rank_trials(trials);
  ASSERT_EQ(groups.at(0).rows.size(), 2000U);
  for (int i = 0; i < 2000; ++i) {
    const RankedRow& row = groups[0].rows[static_cast<std::size_t>(i)];
    EXPECT_EQ(row.rank, i + 1);
    EXPECT_EQ(row.id, 1999 - i);
  }
}

TEST(Ranking, WhatWasComputedUnderOtherConditionsIsAnotherGroup) {
  std::vector<Trial> trials(5, timed_trial("a", 1, 0));
  trials[1].scalars = "alpha=1 beta=1";
  trials[2].cache = "warm";
  trials[3].element_types = "A:f16";
  trials[4].operation = "softmax";
  trials.push_back(trials[4]);
  trials[5].options = "base=2";
  trials.push_back(trials[5]);
  trials[6].template_name = "another kernel";
  const std::vector<RankingGroup> groups = rank_trials(trials);
  ASSERT_EQ(groups.size(), 6U);
  EXPECT_EQ(groups[5].conditions, "softmax, base=2");
  EXPECT_EQ(groups[5].rows.size(), 2U) << "whoever's template it is";
  EXPECT_EQ(groups[1].conditions, "alpha=1 beta=1");
}

TEST(Ranking, GpusProblemsAndSourcesAreNeverMixed) {
  Trial other_gpu = timed_trial("gpu", 1, 0);
  other_gpu.gpu = "NVIDIA T4";
  Trial other_problem = timed_trial("problem", 1, 0);
  other_problem.problem = "1x1x1";
  const std::vector<Trial> trials{timed_trial("a", 10, 0), other_problem, predicted("p", 1), other_gpu,
                                  timed_trial("b", 5, 0)};
  const std::vector<RankingGroup> groups = rank_trials(trials);
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(places(groups[0], trials), "1b 2a");
  EXPECT_EQ(groups[0].gpu, "NVIDIA H200");
  EXPECT_EQ(groups[0].source, Source::measured);
  EXPECT_EQ(groups[1].problem, "1x1x1");
  EXPECT_EQ(groups[2].source, Source::predicted);
  EXPECT_EQ(groups[3].gpu, "NVIDIA T4");
}

TEST(Ranking, OneConfigurationWrittenInTwoWaysRanksOnce) {
  std::vector<Trial> rows{timed_trial("old", 10, 0.1), timed_trial("new", 20, 0.1),
                          timed_trial("other", 30, 0.1)};
  const std::vector<std::string> parameters{R"({"BM":64,"V":true})", R"({"V":1,"BM":64.0})",
                                            R"({"BM":64,"V":"1"})"};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].parameters = parameters[i];
    rows[i].seen_in_sweep = static_cast<std::int64_t>(i) + 1;
  }
  EXPECT_EQ(places_of(rows), "1new 2other");
}

}  // namespace ranking_test
}  // namespace tiletune
