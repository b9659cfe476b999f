// Whole sweeps with workers that do what a test says.

#include "tune/engine_fixture.h"

namespace tiletune {
namespace engine_test {

TEST_F(Engine, EveryConfigurationIsMeasuredOnceAndTheBestAgain) {
  ScriptedEvaluator& gpu = add_gpu();
  const SweepSummary summary = sweep();
  Widths all = gpu.measured;
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (Widths{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(gpu.finals, (std::vector<Widths>{{1, 2, 3}})) << "the leader first";
  EXPECT_EQ(grids_with(Outcome::ok).size(), kGrids);
  EXPECT_EQ(row(1).timed_in, "final");
  EXPECT_EQ(row(4).timed_in, "sampling");
  EXPECT_EQ(summary.finished, kGrids);
  EXPECT_EQ(summary.finals, 1U);
}

TEST_F(Engine, GpusOfOneModelShareTheWork) {
  const ScriptedEvaluator& first = add_gpu();
  const ScriptedEvaluator& second = add_gpu();
  sweep();
  std::multiset<unsigned> all(first.measured.begin(), first.measured.end());
  all.insert(second.measured.begin(), second.measured.end());
  EXPECT_EQ(all, (std::multiset<unsigned>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(first.finals.size() + second.finals.size(), 1U);
}

TEST_F(Engine, AProblemIsPreparedOnceAndDoneBeforeTheNext) {
  problems(R"(["1x1x1", "2x2x2", "3x3x3"])");
  const ScriptedEvaluator& gpu = add_gpu();
  sweep();
  EXPECT_EQ(gpu.prepared, (std::vector<std::string>{"1x1x1", "2x2x2", "3x3x3"}));
  EXPECT_EQ(gpu.measured.size(), 3 * kGrids);
  EXPECT_EQ(gpu.finals.size(), 3U);
}

TEST_F(Engine, WhatIsFasterThanTheCeilingsNeitherRanksNorLeads) {
  problems(R"(["4096x4096x4096"])");
  ScriptedEvaluator& gpu = add_gpu();
  Calibration ceilings;
  ceilings.ffma_tflops = 60;
  ceilings.tensor_f16_tflops = 700;
  ceilings.copy_gbs = ceilings.read_gbs = 4000;
  ceilings.shared_gbs = 30000;
  gpu.calibration = ceilings;
  gpu.in_finals =
      gpu.measuring = [](unsigned width) { return Fate{.time_us = width == 2 ? 100.0 : 3000.0 + width}; };
  sweep();
  EXPECT_EQ(grids_with(Outcome::implausible), std::set<unsigned>{2});
  EXPECT_EQ(gpu.finals, (std::vector<Widths>{{1, 3, 4}}));
}

TEST_F(Engine, ASecondRunMeasuresNothingAndHoldsNoFinals) {
  add_gpu();
  sweep();
  const ScriptedEvaluator& again = add_gpu();
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.reused, kGrids);
  EXPECT_TRUE(again.measured.empty());
  EXPECT_TRUE(again.finals.empty());
  remeasure_ = true;
  const ScriptedEvaluator& asked = add_gpu();
  sweep();
  EXPECT_EQ(asked.measured.size(), kGrids);
  EXPECT_EQ(rows().size(), kGrids);
}

}  // namespace engine_test
}  // namespace tiletune
