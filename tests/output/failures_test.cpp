#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/views.h"
#include "temporary_folder.h"

namespace tiletune {
namespace failures_test {

using Json = nlohmann::ordered_json;

class FailuresTest : public testing::Test {
 protected:
  void add(Outcome outcome, const std::string& reason) {
    Trial trial;
    trial.key = std::to_string(++rows_);
    trial.template_name = "tile";
    trial.problem = "64";
    trial.gpu = "GPU";
    trial.parameters = Json{{"BM", rows_}}.dump();
    trial.outcome = outcome;
    trial.reason = reason;
    database_.record(trial);
  }

  std::vector<FailureKind> kinds() const { return failure_kinds(database_, {}); }

  TemporaryFolder folder_;
  Database database_{folder_ / "rows.db", Database::Mode::read_write};
  int rows_ = 0;
};

TEST_F(FailuresTest, KindsDifferByOutcomeAndWordsButNotByNumbers) {
  add(Outcome::refused, "shared memory 48.5 KiB > 48 KiB\nsecond line 1");
  add(Outcome::compile_failed, "k.cu(3): error: x is undefined");
  add(Outcome::compile_failed, "k.cu(12): error: x is undefined\nint y = x;");
  add(Outcome::crashed, "error 0x7fff at 1e-05");
  add(Outcome::crashed, "error 0x1 at 2");
  add(Outcome::crashed, "error 3 at 4");
  add(Outcome::timeout, "error 3 at 4");
  const auto found = kinds();
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].outcome, Outcome::crashed);
  EXPECT_EQ(found[0].count, 3U);
  EXPECT_EQ(found[0].reason, "error 0x7fff at 1e-05");
  EXPECT_EQ(found[1].count, 2U);
  EXPECT_EQ(found[1].reason, "k.cu(3): error: x is undefined");
  EXPECT_EQ(found[2].reason, "shared memory 48.5 KiB > 48 KiB") << "of equal counts in the order of outcomes";
  EXPECT_EQ(found[3].outcome, Outcome::timeout);
}

TEST_F(FailuresTest, WhatRanAndWhatWasDroppedAsSlowAreNone) {
  add(Outcome::ok, "");
  add(Outcome::screened_out, "at least 2 times the leader's 1 us");
  EXPECT_TRUE(kinds().empty());
  EXPECT_EQ(failure_lines(kinds(), database_), "");
  EXPECT_EQ(to_json(kinds(), database_), Json::array());
}

TEST_F(FailuresTest, TheMostFrequentKindsAreListedAndTheOthersCounted) {
  for (char word = 'a'; word <= 'k'; ++word) {
    add(Outcome::refused, std::string("reason ") + word);
    if (word > 'c') add(Outcome::refused, std::string("reason ") + word);
  }
  const std::string lines = failure_lines(kinds(), database_);
  EXPECT_NE(lines.find("2 x refused: reason k\n"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("reason a"), std::string::npos) << lines;
  EXPECT_NE(lines.find("tile 64 BM=4\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("3 more kinds"), std::string::npos) << lines;
  EXPECT_EQ(to_json(kinds(), database_).size(), 11U);
}

TEST_F(FailuresTest, KindsWithoutEndAreOne) {
  for (int i = 0; i < 300; ++i) add(Outcome::refused, std::string(static_cast<std::size_t>(i), 'x'));
  const auto found = kinds();
  EXPECT_EQ(found.size(), 200U);
  EXPECT_EQ(found.front().count, 101U) << "with the first, whose reason is empty";
}

TEST_F(FailuresTest, AnExampleStandsBesideEachKind) {
  add(Outcome::wrong_result, "element \x1b[2J 7");
  EXPECT_EQ(failure_lines(kinds(), database_).find('\x1b'), std::string::npos);
  const Json kind = to_json(kinds(), database_).at(0);
  EXPECT_EQ(kind["outcome"], "wrong_result");
  EXPECT_EQ(kind["count"], 1);
  EXPECT_EQ(kind["example"],
            (Json{{"template", "tile"}, {"problem", "64"}, {"gpu", "GPU"}, {"parameters", {{"BM", 1}}}}));
}

TEST_F(FailuresTest, LongReasonsAreCut) {
  add(Outcome::compile_failed, std::string(5000, 'x'));
  EXPECT_LT(failure_lines(kinds(), database_).size(), 500U);
}

}  // namespace failures_test
}  // namespace tiletune
