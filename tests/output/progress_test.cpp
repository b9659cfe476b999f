#include "output/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tiletune {
namespace progress_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ProgressTest : public ::testing::Test {
 protected:
  Progress::Surroundings surroundings() {
    return {&out_, [this] { return now_; }, [this] { return width_; }};
  }
  void pass(std::chrono::nanoseconds time) {
    now_ += std::chrono::duration_cast<Progress::TimePoint::duration>(time);
  }
  /// What was written since the last call.
  std::string written() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  std::ostringstream out_;
  Progress::TimePoint now_{seconds(1000)};
  std::size_t width_ = 200;
};

TEST_F(ProgressTest, ShowsRateTimeLeftAndBest) {
  Progress progress(false, true, surroundings());
  progress.update({"warptile 64x64x64", 0, 400, ""});
  EXPECT_EQ(written(), "\r\x1b[Kwarptile 64x64x64: 0/400 (0%)");
  pass(seconds(10));
  progress.update({"warptile 64x64x64", 100, 400, "52.1 TFLOP/s, 101% of cuBLAS"});
  EXPECT_EQ(
      written(),
      "\r\x1b[Kwarptile 64x64x64: 100/400 (25%), 10.0/s, ETA 30.0 s, best 52.1 TFLOP/s, 101% of cuBLAS");
  pass(seconds(30));
  progress.update({"warptile 64x64x64", 400, 400, ""});
  EXPECT_EQ(written(), "\r\x1b[Kwarptile 64x64x64: 400/400 (100%), 10.0/s");
}

TEST_F(ProgressTest, WhatWasDoneBeforeDoesNotCountForTheRate) {
  Progress progress(false, true, surroundings());
  progress.update({"s", 300, 400, ""});
  pass(seconds(10));
  progress.update({"s", 310, 400, ""});
  EXPECT_NE(written().find("310/400 (77%), 1.00/s, ETA 1 min 30 s"), std::string::npos);
}

TEST_F(ProgressTest, ANewStageStartsItsOwnRate) {
  Progress progress(false, true, surroundings());
  progress.update({"a", 0, 10, ""});
  pass(seconds(100));
  progress.update({"b", 0, 10, ""});
  pass(seconds(1));
  progress.update({"b", 5, 10, ""});
  EXPECT_NE(written().find("b: 5/10 (50%), 5.00/s, ETA 1.0 s"), std::string::npos);
}

TEST_F(ProgressTest, TerminalsAreRedrawnAtMostTenTimesASecond) {
  Progress progress(false, true, surroundings());
  int drawn = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    progress.update({"s", i, 1000, ""});
    if (!written().empty()) ++drawn;
    pass(milliseconds(1));
  }
  EXPECT_EQ(drawn, 10);
}

TEST_F(ProgressTest, ElsewhereAPlainLineAppearsEveryTenSecondsAndAtTheEnd) {
  Progress progress(false, false, surroundings());
  std::string text;
  for (std::uint64_t i = 0; i <= 25; ++i) {
    progress.update({"s", i, 100, ""});
    pass(seconds(1));
  }
  progress.finish();
  EXPECT_EQ(
      written(),
      "s: 0/100 (0%)\ns: 10/100 (10%), 1.00/s, ETA 1 min 30 s\ns: 20/100 (20%), 1.00/s, ETA 1 min 20 s\n"
      "s: 25/100 (25%), 0.962/s, ETA 1 min 18 s\n");
  progress.finish();
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressTest, NotesStandAboveTheLiveLine) {
  Progress progress(false, true, surroundings());
  progress.note("before");
  EXPECT_EQ(written(), "before\n");
  progress.update({"s", 1, 2, ""});
  written();
  progress.note("a note");
  EXPECT_EQ(written(), "\r\x1b[Ka note\n\r\x1b[Ks: 1/2 (50%)");
}

TEST_F(ProgressTest, FinishingErasesOnceAndSoDoesTheDestructor) {
  {
    Progress progress(false, true, surroundings());
    progress.update({"s", 1, 2, ""});
    written();
    progress.finish();
    EXPECT_EQ(written(), "\r\x1b[K");
    progress.finish();
    EXPECT_EQ(written(), "");
    pass(seconds(1));
    progress.update({"s", 2, 2, ""});
    written();
  }
  EXPECT_EQ(written(), "\r\x1b[K");
}

TEST_F(ProgressTest, QuietPrintsNothing) {
  {
    Progress progress(true, true, surroundings());
    progress.update({"s", 1, 2, ""});
    progress.note("a note");
  }
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressTest, TheLineNeverWraps) {
  width_ = 12;
  Progress progress(false, true, surroundings());
  progress.update({"a long stage", 1, 2, ""});
  EXPECT_EQ(written(), "\r\x1b[Ka long sta…");
}

TEST_F(ProgressTest, AnUnknownTotalNeedsNoPercent) {
  Progress progress(false, true, surroundings());
  progress.update({"s", 0, 0, ""});
  EXPECT_EQ(written(), "\r\x1b[Ks: 0");
}

}  // namespace progress_test
}  // namespace tiletune
