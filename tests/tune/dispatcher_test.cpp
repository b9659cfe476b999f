// Who measures what, and what a lost worker means.

#include "tune/engine_fixture.h"

namespace tiletune {
namespace dispatcher_test {

using LostWorkers = Engine;

TEST_F(LostWorkers, AnotherGpuDecidesAboutAKernelThatEndedAWorker) {
  ScriptedEvaluator& broken = add_gpu();
  const ScriptedEvaluator& sound = add_gpu();
  broken.measuring = crash_with(5);
  const SweepSummary summary = sweep();
  EXPECT_EQ(grids_with(Outcome::ok).size(), kGrids);
  EXPECT_TRUE(summary.retired.empty());
  const bool met = std::count(broken.measured.begin(), broken.measured.end(), 5U) > 0;
  EXPECT_EQ(std::count(sound.measured.begin(), sound.measured.end(), 5U), 1);
  EXPECT_TRUE(!met || row(5).gpu_uuid == "GPU-1");
}

TEST_F(LostWorkers, AKernelThatEndsEveryWorkerIsARowAndNoMore) {
  ScriptedEvaluator& first = add_gpu();
  ScriptedEvaluator& second = add_gpu();
  first.measuring = second.measuring = crash_with(5);
  const SweepSummary summary = sweep();
  EXPECT_EQ(grids_with(Outcome::crashed), std::set<unsigned>{5});
  EXPECT_EQ(grids_with(Outcome::ok).size(), kGrids - 1);
  EXPECT_TRUE(summary.retired.empty());
  EXPECT_FALSE(summary.failure);
}

TEST_F(LostWorkers, AGpuThatFailsWithKernelsThatRunElsewhereIsDropped) {
  ScriptedEvaluator& broken = add_gpu();
  add_gpu();
  broken.measuring = [](unsigned) { return Fate{.lost = Outcome::crashed}; };
  const SweepSummary summary = sweep();
  ASSERT_EQ(summary.retired.size(), 1U);
  EXPECT_NE(summary.retired[0].find("GPU-0"), std::string::npos) << summary.retired[0];
  EXPECT_EQ(grids_with(Outcome::ok).size(), kGrids);
}

TEST_F(LostWorkers, WhatOneGpuCannotPrepareAnotherMeasures) {
  ScriptedEvaluator& small = add_gpu();
  const ScriptedEvaluator& large = add_gpu();
  small.unusable = "out of memory";
  sweep();
  EXPECT_TRUE(small.measured.empty());
  EXPECT_EQ(large.measured.size(), kGrids);
}

TEST_F(LostWorkers, WhatNoGpuCanPrepareIsRefusedWithTheReason) {
  ScriptedEvaluator& gpu = add_gpu();
  gpu.unusable = "out of memory";
  sweep();
  EXPECT_EQ(grids_with(Outcome::refused).size(), kGrids);
  EXPECT_EQ(row(3).reason, "out of memory");
  EXPECT_TRUE(gpu.finals.empty());
}

TEST_F(LostWorkers, ARowIsJournalledBeforeItsKernelRuns) {
  ScriptedEvaluator& gpu = add_gpu();
  std::multiset<Outcome> before;
  gpu.measuring = [&](unsigned width) {
    const Database other(folder_ / "results.db", Database::Mode::read_only);
    for (const Trial& one : other.trials(TrialFilter()))
      if (one.parameters == "{\"X\":" + std::to_string(width) + ",\"Y\":1}") before.insert(one.outcome);
    return Fate{};
  };
  sweep();
  EXPECT_EQ(before.size(), kGrids) << "another process sees each of them";
  EXPECT_EQ(before.count(Outcome::dispatched), kGrids);
}

TEST_F(LostWorkers, OnlyOneGpuCostsOneRow) {
  ScriptedEvaluator& gpu = add_gpu();
  gpu.measuring = crash_with(5);
  const SweepSummary summary = sweep();
  EXPECT_EQ(grids_with(Outcome::crashed), std::set<unsigned>{5});
  EXPECT_EQ(row(5).reason, "as the test says");
  EXPECT_EQ(grids_with(Outcome::ok).size(), kGrids - 1);
  EXPECT_EQ(std::count(gpu.measured.begin(), gpu.measured.end(), 5U), 1) << "nobody else could decide";
  EXPECT_FALSE(summary.failure);
}

/// One step after another.
class DispatcherParts : public Parts {
 protected:
  void attend(std::size_t gpu = 0) { dispatcher_->attend(queue(), slot(gpu)); }
  void begin(std::size_t gpus) {
    open(gpus);
    recorder_.emplace(*sweep_);
    finals_.emplace(*sweep_, *recorder_);
    references_.emplace(*sweep_);
    dispatcher_.emplace(*sweep_, *recorder_, *finals_, *references_);
  }

  std::optional<Recorder> recorder_;
  std::optional<Finals> finals_;
  std::optional<References> references_;
  std::optional<Dispatcher> dispatcher_;
};

TEST_F(DispatcherParts, PreparesTheProblemAndMeasuresWhatIsReady) {
  begin(1);
  queue().ready.push_back(candidate(2));
  queue().ready.push_back(candidate(1));
  attend();
  EXPECT_EQ(evaluator().prepared.size(), 1U);
  EXPECT_EQ(evaluator().measured, (Widths{2, 1}));
  EXPECT_EQ(row(2)->outcome, Outcome::ok);
  EXPECT_EQ(row(2)->gpu_uuid, "GPU-0");
  EXPECT_EQ(sweep_->summary.finished, 2U);
  EXPECT_TRUE(queue().ready.empty());
}

TEST_F(DispatcherParts, BeginsNothingWhenTheSweepStops) {
  begin(1);
  queue().ready.push_back(candidate(2));
  sweep_->stopping = true;
  attend();
  EXPECT_TRUE(evaluator().prepared.empty());
  EXPECT_EQ(queue().ready.size(), 1U);
}

TEST_F(DispatcherParts, GivesWhatEndedAWorkerToAnotherGpuAlone) {
  begin(2);
  evaluator(0).measuring = crash_with(2);
  queue().ready.push_back(candidate(2));
  attend(0);
  EXPECT_EQ(row(2)->outcome, Outcome::dispatched);
  attend(0);
  EXPECT_EQ(evaluator(0).measured, Widths{2}) << "it waits for the other one";
  attend(1);
  EXPECT_EQ(row(2)->outcome, Outcome::ok);
  EXPECT_EQ(row(2)->gpu_uuid, "GPU-1");
  EXPECT_EQ(slot(0).disproved, 1);
}

TEST_F(DispatcherParts, LeavesAnotherProblemUntilTheFirstIsDone) {
  open(1, R"(["1x1x1", "2x2x2"])");
  recorder_.emplace(*sweep_);
  finals_.emplace(*sweep_, *recorder_);
  references_.emplace(*sweep_);
  dispatcher_.emplace(*sweep_, *recorder_, *finals_, *references_);
  queue().ready.push_back(candidate(2, 1));
  attend();
  EXPECT_TRUE(evaluator().prepared.empty()) << "the first one has proposals left";
  queue().searches[0].close(SearchEnd::strategy);
  attend();
  EXPECT_EQ(evaluator().prepared, std::vector<std::string>{"2x2x2"});
  EXPECT_EQ(evaluator().measured, Widths{2});
}

TEST_F(DispatcherParts, WithoutAGpuTheSweepFailsUnlessNothingIsLeft) {
  begin(1);
  slot().retired = true;
  queue().last_retired = "it broke";
  EXPECT_THROW(dispatcher_->check_survivors(), GpuError);
  queue().stop(false);
  dispatcher_->check_survivors();
}

}  // namespace dispatcher_test
}  // namespace tiletune
