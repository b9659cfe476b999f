#include <gtest/gtest.h>

#include "rank/ranking.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace {

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

TEST(Ladder, RungsFollowTheGivenOrderWithTheFastestOfEach) {
  const std::vector<Ladder> ladders = build_ladders(
      {cublas(5), of_template("tiled", "t1", 25), of_template("naive", "n1", 100),
       of_template("tiled", "t2", 20), of_template("naive", "n2", 120), of_template("other", "o", 1)},
      {"naive", "missing", "tiled"});
  ASSERT_EQ(ladders.size(), 1U);
  const std::vector<LadderRung>& rungs = ladders[0].rungs;
  ASSERT_EQ(rungs.size(), 3U);
  EXPECT_EQ(rungs[0].trial.key, "n1");
  EXPECT_EQ(rungs[1].trial.key, "t2");
  EXPECT_EQ(rungs[2].trial.key, "cublas");
  EXPECT_DOUBLE_EQ(rungs[0].speedup_over_first, 1);
  EXPECT_DOUBLE_EQ(rungs[0].speedup_over_previous, 1);
  EXPECT_DOUBLE_EQ(rungs[1].speedup_over_first, 5);
  EXPECT_DOUBLE_EQ(rungs[1].speedup_over_previous, 5);
  EXPECT_DOUBLE_EQ(rungs[2].speedup_over_first, 20);
  EXPECT_DOUBLE_EQ(rungs[2].speedup_over_previous, 4);
}

TEST(Ladder, ARungMayBeSlowerThanTheOneBefore) {
  const std::vector<Ladder> ladders =
      build_ladders({of_template("a", "a", 10), of_template("b", "b", 20)}, {"a", "b"});
  EXPECT_DOUBLE_EQ(ladders.at(0).rungs.at(1).speedup_over_previous, 0.5);
}

TEST(Ladder, EachGpuProblemAndSourceHasItsOwn) {
  Trial small = of_template("a", "small", 1);
  small.problem = "1x1x1";
  Trial replayed = of_template("a", "replayed", 2);
  replayed.source = Source::replayed;
  const std::vector<Ladder> ladders = build_ladders({of_template("a", "a", 10), small, replayed}, {"a"});
  ASSERT_EQ(ladders.size(), 3U);
  EXPECT_EQ(ladders[1].problem, "1x1x1");
  EXPECT_EQ(ladders[2].source, Source::replayed);
}

TEST(Ladder, BaselinesAloneAndFailuresMakeNone) {
  Trial failed = of_template("a", "a", 1);
  failed.outcome = Outcome::crashed;
  EXPECT_TRUE(build_ladders({cublas(5), failed}, {"a"}).empty());
}

}  // namespace
}  // namespace tiletune
