// What Intake makes of proposals: rows of what cannot run, and candidates that are ready.

#include "tune/engine_fixture.h"

namespace tiletune {
namespace intake_test {

using IntakeOfSweeps = Engine;

TEST_F(IntakeOfSweeps, EqualKernelsShareOneMeasurement) {
  std::string manifest = read_file(folder_ / "wide/template.json");
  const std::string grid = R"("grid": ["X", "Y"])";
  manifest.replace(manifest.find(grid), grid.size(), R"("grid": ["X // 2 + 1", "Y"])");
  write_file(folder_ / "wide/template.json", manifest);
  const ScriptedEvaluator& gpu = add_gpu();
  const SweepSummary summary = sweep();
  EXPECT_EQ(gpu.measured.size(), 5U) << "grids of 1 to 5";
  EXPECT_EQ(summary.shared, 3U);
  EXPECT_EQ(grids_with(Outcome::ok).size(), kGrids);
  std::size_t shared = 0;
  for (const Trial& one : rows()) shared += one.shares.empty() ? 0 : 1;
  EXPECT_EQ(shared, 3U);
}

TEST_F(IntakeOfSweeps, WhatCannotBeLaunchedNeverReachesAGpu) {
  write_wide_space(folder_.path(), kGrids, 1, true);
  problems(R"(["1x1x1"])");
  const ScriptedEvaluator& gpu = add_gpu();
  sweep();
  EXPECT_TRUE(gpu.measured.empty());
  EXPECT_TRUE(gpu.prepared.empty());
  EXPECT_EQ(grids_with(Outcome::refused).size(), kGrids);
}

TEST_F(IntakeOfSweeps, WhatDoesNotCompileIsARowWithTheCompilersWords) {
  write_file(folder_ / "wide/kernel.cu", "extern \"C\" __global__ void wide() { no such thing; }");
  const ScriptedEvaluator& gpu = add_gpu();
  sweep();
  EXPECT_TRUE(gpu.measured.empty());
  EXPECT_EQ(grids_with(Outcome::compile_failed).size(), kGrids);
  EXPECT_TRUE(carries(row(1).reason, {"identifier \"no\" is undefined"}));
}

/// Several proposals, without a pool that compiles.
class IntakeParts : public Parts {
 protected:
  void propose() {
    Recorder recorder(*sweep_);
    Intake(*sweep_, recorder).propose();
  }
};

TEST_F(IntakeParts, CompilesNoMoreThanKeepsTheWorkersBusy) {
  options_.compile.workers = 1;
  open();
  propose();
  EXPECT_EQ(queue().compiling.size(), 4U);
  EXPECT_TRUE(queue().ready.empty());
  EXPECT_TRUE(rows().empty());
}

TEST_F(IntakeParts, ProposesNothingWhenTheSweepStops) {
  open();
  sweep_->stopping = true;
  propose();
  EXPECT_TRUE(queue().compiling.empty());
}

TEST_F(IntakeParts, NeitherCompilesForAQueueThatHasLostItsGpus) {
  open();
  slot().retired = true;
  propose();
  EXPECT_TRUE(queue().compiling.empty());
}

TEST_F(IntakeParts, NamesAKernelByWhatItIsCompiledIntoOnceThatIsKnown) {
  open();
  Candidate one = candidate(3);
  const std::string compiled = one.trial.key;
  one.trial.kernel_hash.clear();
  name_row(spec_, queue(), one);
  const std::string written = one.trial.key;
  EXPECT_NE(written, compiled);
  one.trial.source_key = "of another source";
  name_row(spec_, queue(), one);
  EXPECT_NE(one.trial.key, written);
  one.trial.kernel_hash = "of wide";
  name_row(spec_, queue(), one);
  EXPECT_EQ(one.trial.key, compiled) << "whatever the source";
}

TEST_F(IntakeParts, TheCompilersFailureIsTheRowsOutcome) {
  open();
  Candidate one = candidate(3);
  add_binary(spec_, queue().target().model, one, {Outcome::compile_timeout, "too slow", nullptr});
  EXPECT_EQ(one.trial.outcome, Outcome::compile_timeout);
  EXPECT_EQ(one.trial.reason, "too slow");
}

TEST_F(IntakeParts, ABinaryThatCannotBeReadIsRefused) {
  open();
  Candidate one = candidate(3);
  add_binary(spec_, queue().target().model, one, {Outcome::ok, "", one.binary});
  EXPECT_EQ(one.trial.outcome, Outcome::refused);
  EXPECT_NE(one.trial.reason, "");
}

}  // namespace intake_test
}  // namespace tiletune
