// When finals are due, who takes part, and what becomes of them.

#include <map>

#include "tune/engine_fixture.h"

namespace tiletune {
namespace finals_test {

using FinalsOfSweeps = Engine;

TEST_F(FinalsOfSweeps, AFinalistThatIsWrongLosesItsRankAndAnotherLeads) {
  ScriptedEvaluator& gpu = add_gpu();
  gpu.in_finals = [](unsigned width) { return width == 1 ? Fate{.outcome = Outcome::wrong_result} : Fate{}; };
  sweep();
  EXPECT_EQ(grids_with(Outcome::wrong_result), std::set<unsigned>{1});
  EXPECT_EQ(gpu.finals, (std::vector<Widths>{{1, 2, 3}, {2, 3}})) << "the noise is the leader's";
  EXPECT_EQ(row(2).timed_in, "final");
}

TEST_F(FinalsOfSweeps, AFinalistThatEndsTheWorkerIsDisqualifiedAtTheSecondTime) {
  ScriptedEvaluator& first = add_gpu();
  ScriptedEvaluator& second = add_gpu();
  first.in_finals = second.in_finals = crash_with(2);
  sweep();
  EXPECT_EQ(grids_with(Outcome::crashed), std::set<unsigned>{2});
  EXPECT_EQ(row(1).timed_in, "final");
  std::vector<Widths> requests = first.finals;
  requests.insert(requests.end(), second.finals.begin(), second.finals.end());
  EXPECT_EQ(std::multiset<Widths>(requests.begin(), requests.end()),
            (std::multiset<Widths>{{1, 2, 3}, {1, 2, 3}, {1, 3}}));
}

TEST_F(FinalsOfSweeps, WhatWasDroppedAgainstAFaultyLeaderIsTriedAgain) {
  ScriptedEvaluator& gpu = add_gpu();
  gpu.measuring = [](unsigned width) { return Fate{.time_us = width == 4 ? 10.0 : 100.0 + width}; };
  gpu.in_finals = [](unsigned width) { return width == 4 ? Fate{.outcome = Outcome::wrong_result} : Fate{}; };
  sweep();
  EXPECT_EQ(grids_with(Outcome::wrong_result), std::set<unsigned>{4});
  EXPECT_EQ(grids_with(Outcome::ok).size(), kGrids - 1) << "none stays dropped against it";
  EXPECT_EQ(gpu.finals, (std::vector<Widths>{{4, 1, 2}, {1, 2}})) << "the faulty one keeps its place";
  EXPECT_TRUE(carries(observer_.notes, {"tried again"}));
}

TEST_F(FinalsOfSweeps, FinalsThatNeverComeToTheirEndAreLeftOut) {
  ScriptedEvaluator& first = add_gpu();
  ScriptedEvaluator& second = add_gpu();
  first.in_finals = second.in_finals = [](unsigned) { return Fate{.lost = Outcome::timeout}; };
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.finals, 0U);
  EXPECT_EQ(summary.finals_left_out, 1U);
  EXPECT_TRUE(carries(observer_.notes, {"left out"}));
  EXPECT_FALSE(summary.failure);
}

TEST_F(FinalsOfSweeps, OfEveryProblemRunOnOneOfTheGpus) {
  problems(R"(["1x1x1", "2x2x2", "3x3x3"])");
  const ScriptedEvaluator& first = add_gpu();
  const ScriptedEvaluator& second = add_gpu();
  EXPECT_EQ(sweep().finals, 3U);
  EXPECT_EQ(first.finals.size() + second.finals.size(), 3U);
  std::map<std::string, std::set<std::string>> gpus;
  std::map<std::string, int> finalists;
  for (const Trial& one : rows()) {
    if (one.timed_in != "final") continue;
    gpus[one.problem].insert(one.gpu_uuid);
    ++finalists[one.problem];
  }
  EXPECT_EQ(finalists, (std::map<std::string, int>{{"1x1x1", 3}, {"2x2x2", 3}, {"3x3x3", 3}}));
  for (const auto& [problem, uuids] : gpus) EXPECT_EQ(uuids.size(), 1U) << problem;
}

/// One step after another.
class FinalsParts : public Parts {
 protected:
  /// With rows of all grids up to that width, of which 1 is the fastest, and nothing left to try.
  void begin(unsigned widest = 5, std::size_t gpus = 1) {
    open(gpus);
    measure(widest);
  }
  void measure(unsigned widest) {
    recorder_.emplace(*sweep_);
    finals_.emplace(*sweep_, *recorder_);
    for (unsigned width = widest; width > 0; --width) recorder_->record(queue(), measured(width));
    queue().searches[0].close(SearchEnd::strategy);
  }

  /// Holds those that are due on a GPU, as the dispatcher would; false when there are none.
  bool hold(std::size_t gpu = 0) {
    const auto workload = finals_->due(queue(), slot(gpu));
    if (!workload) return false;
    slot(gpu).workload = workload;
    finals_->start(queue(), slot(gpu));
    while (const auto evaluation = evaluator(gpu).poll()) {
      if (evaluation->finals) finals_->finish(queue(), slot(gpu), *evaluation->finals);
      if (evaluation->finals_lost) finals_->lose(queue(), slot(gpu), *evaluation->finals_lost);
    }
    return true;
  }
  std::string timed_in(unsigned width) { return row(width)->timed_in; }
  bool are_over() { return finals_->over(queue()); }

  std::optional<Recorder> recorder_;
  std::optional<Finals> finals_;
};

TEST_F(FinalsParts, AreNotDueWhileSomethingIsLeftToTry) {
  begin();
  queue().ready.push_back(candidate(7));
  EXPECT_FALSE(finals_->due(queue(), slot()));
  queue().ready.clear();
  slot().measuring = 0;
  EXPECT_FALSE(finals_->due(queue(), slot()));
  slot().measuring.reset();
  EXPECT_EQ(finals_->due(queue(), slot()), 0U);
  EXPECT_FALSE(are_over());
}

TEST_F(FinalsParts, TimeTheBestAndATwinOfTheFirst) {
  begin();
  EXPECT_TRUE(hold());
  EXPECT_EQ(evaluator().finals, (std::vector<Widths>{{1, 2, 3}}));
  for (const unsigned width : {1U, 2U, 3U}) {
    EXPECT_EQ(timed_in(width), "final");
    EXPECT_EQ(row(width)->first_median_us, 100 + width);
    EXPECT_TRUE(row(width)->probability_near_best);
    EXPECT_TRUE(row(width)->noise_floor_percent);
  }
  EXPECT_EQ(timed_in(4), "sampling");
  const auto twin = database_.find(twin_key(candidate(1).trial.key));
  ASSERT_TRUE(twin);
  EXPECT_EQ(twin->kind, "twin");
  EXPECT_TRUE(are_over());
  EXPECT_EQ(sweep_->summary.finals, 1U);
}

TEST_F(FinalsParts, TakeAllThatAreCloseToTheFirst) {
  open();
  spec_.measure.finals.within_percent = 4.5;
  sweep_.emplace(spec_, gpu_sets_, database_, options_, observer_);
  next_sweep();
  measure(8);
  EXPECT_TRUE(hold());
  EXPECT_EQ(evaluator().finals, (std::vector<Widths>{{1, 2, 3, 4, 5}})) << "101 us and 4.5%";
}

TEST_F(FinalsParts, TakeLessTimeWhereProblemsShareABudget) {
  open(1, R"(["1x1x1", "2x2x2"])", {.seconds = 4});
  measure(3);
  EXPECT_TRUE(hold());
  EXPECT_EQ(evaluator().requests.at(0).longest_us, 0.5e6) << "a quarter of 2 s";
}

TEST_F(FinalsParts, TakeNoMoreCubinsThanFitIntoAMessage) {
  cubin_ = std::string(std::size_t{11} << 20, 'x');
  open();
  spec_.measure.finals.configurations = 5;
  sweep_.emplace(spec_, gpu_sets_, database_, options_, observer_);
  next_sweep();
  measure(5);
  EXPECT_TRUE(hold());
  EXPECT_EQ(evaluator().finals, (std::vector<Widths>{{1, 2, 3, 4}}));
  EXPECT_TRUE(carries(observer_.notes, {"finals of 1x1x1", "4 of 5", "48.0 MiB"}));
  EXPECT_EQ(timed_in(4), "final");
  EXPECT_EQ(timed_in(5), "sampling");
}

TEST_F(FinalsParts, OneWithoutMemoryKeepsItsFirstTime) {
  begin();
  evaluator().in_finals = [](unsigned width) {
    return width == 2 ? Fate{.outcome = Outcome::refused} : Fate{};
  };
  EXPECT_TRUE(hold());
  EXPECT_EQ(row(2)->outcome, Outcome::ok);
  EXPECT_EQ(timed_in(2), "sampling");
  EXPECT_EQ(timed_in(3), "final");
  EXPECT_TRUE(are_over());
}

TEST_F(FinalsParts, OneThatIsWrongLosesItsRankAndTheOthersStand) {
  begin();
  evaluator().in_finals = [](unsigned width) {
    return width == 2 ? Fate{.outcome = Outcome::wrong_result} : Fate{};
  };
  EXPECT_TRUE(hold());
  EXPECT_EQ(row(2)->outcome, Outcome::wrong_result);
  EXPECT_EQ(row(2)->first_median_us, 102);
  EXPECT_EQ(timed_in(1), "final");
  EXPECT_TRUE(are_over());
  EXPECT_EQ(evaluator().finals.size(), 1U);
}

TEST_F(FinalsParts, AWorkerThatIsLostOnTheOnlyGpuBlamesWhoseTurnItWas) {
  begin();
  evaluator().in_finals = crash_with(2);
  EXPECT_TRUE(hold());
  EXPECT_TRUE(hold());
  EXPECT_FALSE(hold());
  EXPECT_EQ(evaluator().finals, (std::vector<Widths>{{1, 2, 3}, {1, 3}}));
  EXPECT_EQ(row(2)->outcome, Outcome::crashed);
  EXPECT_EQ(timed_in(3), "final");
}

TEST_F(FinalsParts, AnotherGpuDecidesWhoseFaultALostWorkerIs) {
  begin(5, 2);
  evaluator(0).in_finals = crash_with(2);
  EXPECT_TRUE(hold(0));
  EXPECT_FALSE(hold(0)) << "it leaves them to the other one";
  EXPECT_TRUE(hold(1));
  EXPECT_EQ(evaluator(1).finals, (std::vector<Widths>{{1, 2, 3}}));
  EXPECT_EQ(row(2)->outcome, Outcome::ok);
  EXPECT_EQ(row(2)->gpu_uuid, "GPU-1");
  EXPECT_TRUE(are_over());
}

TEST_F(FinalsParts, ThatLoseTheirWorkerAgainAndAgainAreGivenUpAndBlameNobody) {
  begin();
  evaluator().in_finals = [](unsigned width) {
    return width == 2 ? Fate{.lost = Outcome::crashed, .without_fault = true} : Fate{};
  };
  int times = 0;
  while (hold()) ++times;
  EXPECT_EQ(times, 5);
  EXPECT_TRUE(carries(observer_.notes, {"finals of 1x1x1", "5 times", "as the test says"}));
  for (unsigned width = 1; width <= 5; ++width) {
    EXPECT_EQ(row(width)->outcome, Outcome::ok);
    EXPECT_EQ(timed_in(width), "sampling");
  }
  EXPECT_EQ(sweep_->summary.finals_left_out, 1U);
}

TEST_F(FinalsParts, WhatAGpuFoundThatIsDroppedDoesNotCount) {
  begin(5, 2);
  slot(0).workload = finals_->due(queue(), slot(0));
  ASSERT_TRUE(slot(0).workload);
  finals_->start(queue(), slot(0));
  WorkloadFinals& finals = queue().workloads[0].finals;
  finals.finalists[0].fault = Contender::Fault{Outcome::crashed, "it ended the worker", &slot(0)};
  slot(0).retired = true;
  finals_->release(queue(), slot(0));
  EXPECT_TRUE(hold(1));
  EXPECT_EQ(evaluator(1).finals, (std::vector<Widths>{{1, 2, 3}}));
  EXPECT_EQ(row(1)->outcome, Outcome::ok);
  EXPECT_EQ(timed_in(1), "final");
}

/// What others were screened out against it is not tried again on the word of a GPU that is broken.
TEST_F(FinalsParts, OnTheOnlyGpuWhichDiesBlameNobodyAndTheFirstTimesStand) {
  open();
  measure(5);
  Candidate slow = measured(8, Outcome::screened_out);
  recorder_->record(queue(), std::move(slow));
  evaluator().in_finals = crash_with(1);
  EXPECT_TRUE(hold());
  slot().retired = true;
  finals_->release(queue(), slot());
  EXPECT_TRUE(are_over());
  EXPECT_TRUE(carries(observer_.notes, {"left out", "no GPU is left"}));
  EXPECT_EQ(sweep_->summary.finals_left_out, 1U);
  for (unsigned width = 1; width <= 5; ++width) {
    EXPECT_EQ(row(width)->outcome, Outcome::ok);
    EXPECT_EQ(timed_in(width), "sampling");
  }
  EXPECT_EQ(row(8)->outcome, Outcome::screened_out);
  EXPECT_EQ(queue().searches.current(), nullptr) << "nothing is put off";
}

TEST_F(FinalsParts, AreLeftOutAfterAnInterrupt) {
  begin();
  ASSERT_TRUE(finals_->due(queue(), slot()));
  sweep_->stopping = sweep_->summary.interrupted = true;
  EXPECT_TRUE(are_over());
  EXPECT_TRUE(carries(observer_.notes, {"finals of 1x1x1", "interrupted"}));
  EXPECT_EQ(sweep_->summary.finals_left_out, 1U);
  EXPECT_EQ(timed_in(1), "sampling");
  EXPECT_TRUE(evaluator().finals.empty());
}

TEST_F(FinalsParts, ThatBecomeDueAfterAnInterruptAreLeftOut) {
  begin();
  sweep_->stopping = sweep_->summary.interrupted = true;
  EXPECT_FALSE(finals_->due(queue(), slot()));
  EXPECT_TRUE(carries(observer_.notes, {"interrupted"}));
}

TEST_F(FinalsParts, ComeOnTopOfASpentBudget) {
  open();
  ASSERT_TRUE(queue().searches.propose(1));
  measure(3);
  queue().ready.push_back(candidate(7));
  sweep_->stopping = true;
  queue().stop(true);
  EXPECT_TRUE(hold());
  EXPECT_EQ(timed_in(1), "final");
}

TEST_F(FinalsParts, OfAProblemRunOnTheGpuThatHoldsIt) {
  begin(5, 2);
  slot(1).workload = 0;
  EXPECT_FALSE(finals_->due(queue(), slot(0)));
  EXPECT_EQ(finals_->due(queue(), slot(1)), 0U);
}

TEST_F(FinalsParts, AreNotHeldAgainWithTheSameFinalists) {
  begin();
  ASSERT_TRUE(hold());
  sweep_.emplace(spec_, gpu_sets_, database_, options_, observer_);
  next_sweep();
  recorder_.emplace(*sweep_);
  finals_.emplace(*sweep_, *recorder_);
  for (unsigned width = 1; width <= 5; ++width) ASSERT_TRUE(recorder_->is_known(queue(), candidate(width)));
  queue().searches[0].close(SearchEnd::strategy);
  EXPECT_FALSE(hold());
  EXPECT_TRUE(are_over());
  EXPECT_EQ(database_.find(twin_key(candidate(1).trial.key))->seen_in_sweep, sweep_->summary.sweep_id);
}

}  // namespace finals_test
}  // namespace tiletune
