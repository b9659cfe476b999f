// What Recorder writes and counts, and what it takes from the rows that are there.

#include <filesystem>

#include "tune/engine_fixture.h"

namespace tiletune {
namespace recorder_test {

class RecorderTest : public Parts {
 protected:
  void SetUp() override {
    open();
    recorder_.emplace(*sweep_);
  }

  void record(Candidate candidate) { recorder_->record(queue(), std::move(candidate)); }
  bool is_known(const Candidate& candidate) { return recorder_->is_known(queue(), candidate); }
  std::map<Outcome, std::uint64_t> counts() const { return sweep_->summary.outcomes; }

  std::optional<Recorder> recorder_;
};

TEST_F(RecorderTest, RowsAreWrittenInTheOrderInWhichTheyEnd) {
  for (const unsigned width : {3U, 1U, 2U}) record(measured(width));
  std::vector<double> times;
  for (const Trial& one : rows()) times.push_back(*one.median_us);
  EXPECT_EQ(times, (std::vector<double>{103, 101, 102}));
  EXPECT_EQ(sweep_->summary.finished, 3U);
  EXPECT_EQ(counts(), (std::map<Outcome, std::uint64_t>{{Outcome::ok, 3}}));
  EXPECT_EQ(queue().standings.leader(queue().task_of(0))->key, candidate(1).trial.key);
}

TEST_F(RecorderTest, TheEndOfACandidateTakesThePlaceOfItsJournal) {
  Candidate one = candidate(3);
  recorder_->dispatch(one);
  EXPECT_EQ(row(3)->outcome, Outcome::dispatched);
  EXPECT_EQ(sweep_->summary.finished, 0U) << "it is no result yet";
  record(measured(3));
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].outcome, Outcome::ok);
}

TEST_F(RecorderTest, ARowThatCannotBeWrittenIsNotCounted) {
  record(measured(1));
  Candidate next = candidate(3);
  std::filesystem::rename(folder_ / "results.db", folder_ / "moved.db");
  EXPECT_THROW(record(measured(2)), UserError);
  EXPECT_THROW(recorder_->dispatch(next), UserError) << "so it does not run either";
  std::filesystem::rename(folder_ / "moved.db", folder_ / "results.db");
  EXPECT_EQ(sweep_->summary.finished, 1U);
  EXPECT_EQ(counts(), (std::map<Outcome, std::uint64_t>{{Outcome::ok, 1}}));
  EXPECT_EQ(rows().size(), 1U);
}

TEST_F(RecorderTest, WhatASweepHasMeasuredTheNextOneTakes) {
  record(measured(1));
  record(measured(2, Outcome::wrong_result));
  next_sweep();
  sweep_->summary.finished = 0;
  EXPECT_TRUE(is_known(candidate(1)));
  EXPECT_TRUE(is_known(candidate(2)));
  EXPECT_FALSE(is_known(candidate(3)));
  EXPECT_EQ(sweep_->summary.reused, 2U);
  EXPECT_EQ(sweep_->summary.finished, 2U);
  EXPECT_EQ(row(1)->sweep_id, 1);
  EXPECT_EQ(row(1)->seen_in_sweep, 2);
}

TEST_F(RecorderTest, WhatCostsLittleOrMayHaveBeenChanceIsTriedAgain) {
  for (const Outcome outcome : {Outcome::refused, Outcome::compile_timeout, Outcome::implausible}) {
    record(measured(1, outcome));
    next_sweep();
    EXPECT_FALSE(is_known(candidate(1))) << name(outcome);
  }
}

TEST_F(RecorderTest, WhoeverAsksForNewTimesGetsThem) {
  record(measured(1));
  next_sweep();
  options_.remeasure = true;
  EXPECT_FALSE(is_known(candidate(1)));
}

TEST_F(RecorderTest, WhatAnotherSweepIsAtIsPutOffOnceAndThenTried) {
  Candidate one = candidate(1);
  recorder_->dispatch(one);
  next_sweep();
  Candidate again = candidate(1);
  EXPECT_TRUE(is_known(again));
  EXPECT_EQ(sweep_->summary.finished, 0U);
  while (const auto proposal = queue().searches.propose(8)) again.deferred = proposal->deferred;
  EXPECT_TRUE(again.deferred) << "it comes last";
  EXPECT_FALSE(is_known(again));
}

TEST_F(RecorderTest, WhatWasScreenedOutStaysOutAsLongAsItsLeaderIsFarAhead) {
  Candidate slow = measured(8, Outcome::screened_out);
  slow.trial.median_us = 200;
  record(slow);
  next_sweep();
  EXPECT_TRUE(is_known(candidate(8))) << "nobody leads, so it is put off";
  EXPECT_EQ(sweep_->summary.reused, 0U);
  record(measured(1));
  EXPECT_TRUE(is_known(candidate(8)));
  EXPECT_EQ(sweep_->summary.reused, 1U);
}

TEST_F(RecorderTest, EqualMeasurementsAreShared) {
  const auto renamed = [&](Candidate candidate) {
    candidate.trial.template_name = "another";
    candidate.trial.key += "another";
    return candidate;
  };
  record(measured(1));
  EXPECT_TRUE(is_known(renamed(candidate(1))));
  EXPECT_EQ(sweep_->summary.shared, 1U);
  const Trial shared = *database_.find(candidate(1).trial.key + "another");
  EXPECT_EQ(shared.shares, candidate(1).trial.key);
  EXPECT_EQ(shared.template_name, "another");
  EXPECT_EQ(shared.median_us, 101);
  EXPECT_FALSE(shared.measure_ms);
}

TEST_F(RecorderTest, AFaultThatFinalsFindTakesTheRankFromAllRowsThatShareIt) {
  record(measured(1));
  Candidate another = candidate(1);
  another.trial.template_name = "another";
  another.trial.key += "another";
  ASSERT_TRUE(is_known(another));
  recorder_->disqualify(candidate(1).trial.key, Outcome::wrong_result, "off by 1");
  for (const Trial& one : rows()) {
    EXPECT_EQ(one.outcome, Outcome::wrong_result);
    EXPECT_EQ(one.timed_in, "final");
    EXPECT_EQ(one.first_median_us, 101);
    EXPECT_EQ(one.reason, "in the finals: off by 1");
  }
  EXPECT_EQ(counts(), (std::map<Outcome, std::uint64_t>{{Outcome::wrong_result, 2}}));
  EXPECT_EQ(sweep_->summary.finished, 2U);
}

TEST_F(RecorderTest, WhatIsTriedAgainIsNotCountedTwice) {
  record(measured(8, Outcome::screened_out));
  recorder_->try_again(queue(), {&queue().task_of(0), 7, 108, sweep_->summary.sweep_id});
  EXPECT_TRUE(counts().empty());
  EXPECT_EQ(sweep_->summary.finished, 0U);
  EXPECT_EQ(sweep_->summary.reused, 0U);
  record(measured(8));
  EXPECT_EQ(counts(), (std::map<Outcome, std::uint64_t>{{Outcome::ok, 1}}));
}

using FailedWrites = Engine;

TEST_F(FailedWrites, EndTheSweepWithWhatWasRecorded) {
  ScriptedEvaluator& gpu = add_gpu();
  gpu.measuring = [&](unsigned /*width*/) {
    if (gpu.measured.size() == 3) std::filesystem::rename(folder_ / "results.db", folder_ / "moved.db");
    return Fate{};
  };
  const SweepSummary summary = sweep();
  std::filesystem::rename(folder_ / "moved.db", folder_ / "results.db");
  EXPECT_TRUE(summary.failure);
  EXPECT_EQ(gpu.measured.size(), 3U);
  EXPECT_EQ(summary.finished, 2U);
  EXPECT_EQ(outcomes(), (std::multiset<Outcome>{Outcome::dispatched, Outcome::ok, Outcome::ok}));
}

}  // namespace recorder_test
}  // namespace tiletune
