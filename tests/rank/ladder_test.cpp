#include <gtest/gtest.h>

#include "rank/ranking.h"
#include "rank/ranking_rows_of.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace ladder_test {

Trial of_template(const std::string& name, const std::string& key, double median_us) {
  Trial trial = timed_trial(key, median_us, 0);
  trial.template_name = name;
  return trial;
}

Trial cublas(double median_us) {
  Trial trial = of_template("cublas", "cublas", median_us);
  trial.kind = "baseline";
  return trial;
}

std::vector<Ladder> ladders_of(const std::vector<Trial>& trials, const std::vector<std::string>& templates) {
  RankingRows rows = ranking_rows_of(trials);
  std::vector<LadderStep> steps;
  for (const std::string& name : templates) steps.push_back({name, "", {}});
  return build_ladders(rows, steps);
}

TEST(Ladder, RungsFollowTheGivenOrderWithTheFastestOfEach) {
  const std::vector<Trial> trials{cublas(5),
                                  of_template("tiled", "t1", 25),
                                  of_template("naive", "n1", 100),
                                  of_template("tiled", "t2", 20),
                                  of_template("naive", "n2", 120),
                                  of_template("other", "o", 1)};
  const std::vector<Ladder> ladders = ladders_of(trials, {"naive", "missing", "tiled"});
  ASSERT_EQ(ladders.size(), 1U);
  const std::vector<LadderRung>& rungs = ladders[0].rungs;
  ASSERT_EQ(rungs.size(), 3U);
  EXPECT_EQ(trials[static_cast<std::size_t>(rungs[0].id)].key, "n1");
  EXPECT_EQ(trials[static_cast<std::size_t>(rungs[1].id)].key, "t2");
  EXPECT_EQ(trials[static_cast<std::size_t>(rungs[2].id)].key, "cublas");
  EXPECT_DOUBLE_EQ(rungs[0].speedup_over_first, 1);
  EXPECT_DOUBLE_EQ(rungs[0].speedup_over_previous, 1);
  EXPECT_DOUBLE_EQ(rungs[1].speedup_over_first, 5);
  EXPECT_DOUBLE_EQ(rungs[1].speedup_over_previous, 5);
  EXPECT_DOUBLE_EQ(rungs[2].speedup_over_first, 20);
  EXPECT_DOUBLE_EQ(rungs[2].speedup_over_previous, 4);
}

TEST(Ladder, AStepTakesSomeOfATemplatesRows) {
  RankingRows rows = ranking_rows_of(
      {of_template("a", "slow", 100), of_template("a", "fast", 10), of_template("b", "b", 5)});
  const auto is_row = [](std::int64_t wanted) {
    return [wanted](std::int64_t row) { return row == wanted; };
  };
  const std::vector<LadderStep> steps{{"a", "plain", is_row(0)},
                                      {"a", "none", is_row(7)},
                                      {"a", "padded", is_row(1)},
                                      {"b", "", {}},
                                      {"b", "", {}}};
  const std::vector<Ladder> ladders = build_ladders(rows, steps);
  ASSERT_EQ(ladders.size(), 1U);
  const std::vector<LadderRung>& rungs = ladders[0].rungs;
  ASSERT_EQ(rungs.size(), 3U);
  EXPECT_EQ(rungs[0].step, "plain");
  EXPECT_EQ(rungs[1].step, "padded");
  EXPECT_EQ(rungs[2].step, "");
  EXPECT_DOUBLE_EQ(rungs[1].speedup_over_previous, 10);
  EXPECT_DOUBLE_EQ(rungs[2].speedup_over_first, 20);
}

TEST(Ladder, ARungMayBeSlowerThanTheOneBefore) {
  const std::vector<Ladder> ladders =
      ladders_of({of_template("a", "a", 10), of_template("b", "b", 20)}, {"a", "b"});
  EXPECT_DOUBLE_EQ(ladders.at(0).rungs.at(1).speedup_over_previous, 0.5);
}

TEST(Ladder, EachGpuProblemAndSourceHasItsOwn) {
  Trial small = of_template("a", "small", 1);
  small.problem = "1x1x1";
  Trial replayed = of_template("a", "replayed", 2);
  replayed.source = Source::replayed;
  const std::vector<Ladder> ladders = ladders_of({of_template("a", "a", 10), small, replayed}, {"a"});
  ASSERT_EQ(ladders.size(), 3U);
  EXPECT_EQ(ladders[1].problem, "1x1x1");
  EXPECT_EQ(ladders[2].source, Source::replayed);
}

TEST(Ladder, TemplatesAreKnownInOrderOfFirstAppearance) {
  Trial dispatched = of_template("late", "l", 1);
  dispatched.outcome = Outcome::dispatched;
  EXPECT_EQ(ranking_rows_of({cublas(5), of_template("b", "b", 1), dispatched, of_template("a", "a", 1),
                             of_template("b", "c", 1)})
                .kernel_templates(),
            (std::vector<std::string>{"b", "late", "a"}));
}

TEST(Ladder, BaselinesAloneAndFailuresMakeNone) {
  Trial failed = of_template("a", "a", 1);
  failed.outcome = Outcome::crashed;
  EXPECT_TRUE(ladders_of({cublas(5), failed}, {"a"}).empty());
}

}  // namespace ladder_test
}  // namespace tiletune
