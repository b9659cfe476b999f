// Dispatching, intake and finals, with workers that do what a test says.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "carries.h"
#include "temporary_folder.h"
#include "tune/many_rows.h"
#include "tune/scripted_evaluator.h"
#include "tune/sweep.h"

namespace tiletune {
namespace engine_test {

using Widths = std::vector<unsigned>;

class NoteTaker : public SweepObserver {
 public:
  void on_progress(const ProgressState& /*state*/) override {}
  void on_note(const std::string& line) override { notes += line + "\n"; }
  std::string notes;
};

/// Sweeps of a kernel in several grids into one database.
class Engine : public testing::Test {
 protected:
  static constexpr std::uint64_t kGrids = 8;

  /// A config of kernels whose grids are 1 to kGrids wide.
  void SetUp() override {
    write_wide_space(folder_.path(), kGrids, 1, false);
    problems(R"(["1x1x1"])");
  }

  void problems(const std::string& list) {
    write_file(folder_ / "wide.json",
               R"({"templates": ["wide"], "problems": )" + list +
                   R"(, "measure": {"finals": {"configurations": 3, "within_percent": 0}}})");
  }

  /// One more GPU; what it does is said by the evaluator that is returned.
  ScriptedEvaluator& add_gpu() {
    Target target = pretended_target(TILETUNE_SOURCE_DIR);
    target.uuid = "GPU-" + std::to_string(gpus_.size());
    gpus_.push_back(std::make_unique<ScriptedEvaluator>(std::move(target)));
    return *gpus_.back();
  }

  /// Takes the GPUs with it: the next sweep needs others.
  SweepSummary sweep() {
    LoadOptions load;
    load.template_folders = {std::filesystem::path(TILETUNE_SOURCE_DIR) / "kernel_templates"};
    const TuneSpec spec = load_tune_spec(folder_ / "wide.json", load);
    gpu_sets_.emplace_back(1);
    gpu_sets_.back()[0].tasks = plan_tasks(spec);
    for (auto& gpu : gpus_) gpu_sets_.back()[0].evaluators.push_back(std::move(gpu));
    gpus_.clear();
    SweepOptions options;
    options.compile.workers = 1;
    options.compile.cache_folder = folder_ / "cubin";
    options.compile.program = std::string(TILETUNE_BINARY_DIR) + "/tiletune";
    options.remeasure = remeasure_;
    return run_sweep(spec, gpu_sets_.back(), database_, options, observer_);
  }

  std::vector<Trial> rows() const {
    std::vector<Trial> kernels = database_.trials(TrialFilter());
    std::erase_if(kernels, [](const Trial& row) { return row.kind != "kernel"; });
    return kernels;
  }

  /// The row of the kernel whose grid is so wide.
  Trial row(unsigned width) const {
    for (const Trial& one : rows())
      if (one.parameters == "{\"X\":" + std::to_string(width) + ",\"Y\":1}") return one;
    ADD_FAILURE() << "no row of a grid of " << width;
    return {};
  }

  std::multiset<Outcome> outcomes() const {
    std::multiset<Outcome> all;
    for (const Trial& one : rows()) all.insert(one.outcome);
    return all;
  }

  /// The grids whose rows have the outcome.
  std::set<unsigned> grids_with(Outcome outcome) const {
    std::set<unsigned> grids;
    for (unsigned width = 1; width <= kGrids; ++width)
      if (row(width).outcome == outcome) grids.insert(width);
    return grids;
  }

  TemporaryFolder folder_;
  Database database_{folder_ / "results.db", Database::Mode::read_write};
  NoteTaker observer_;
  bool remeasure_ = false;

 private:
  std::vector<std::unique_ptr<ScriptedEvaluator>> gpus_;
  std::vector<std::vector<GpuSet>> gpu_sets_;  ///< whose evaluators a test looks into afterwards
};

/// What a worker of the kind that tests break most does: lost with one grid, every time.
ScriptedEvaluator::Script crash_with(unsigned broken) {
  return [=](unsigned width) { return width == broken ? Fate{.lost = Outcome::crashed} : Fate{}; };
}

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

TEST_F(Engine, AnotherGpuDecidesAboutAKernelThatEndedAWorker) {
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

TEST_F(Engine, AKernelThatEndsEveryWorkerIsARowAndNoMore) {
  ScriptedEvaluator& first = add_gpu();
  ScriptedEvaluator& second = add_gpu();
  first.measuring = second.measuring = crash_with(5);
  const SweepSummary summary = sweep();
  EXPECT_EQ(grids_with(Outcome::crashed), std::set<unsigned>{5});
  EXPECT_EQ(grids_with(Outcome::ok).size(), kGrids - 1);
  EXPECT_TRUE(summary.retired.empty());
  EXPECT_FALSE(summary.failure);
}

TEST_F(Engine, AGpuThatFailsWithKernelsThatRunElsewhereIsDropped) {
  ScriptedEvaluator& broken = add_gpu();
  add_gpu();
  broken.measuring = [](unsigned) { return Fate{.lost = Outcome::crashed}; };
  const SweepSummary summary = sweep();
  ASSERT_EQ(summary.retired.size(), 1U);
  EXPECT_NE(summary.retired[0].find("GPU-0"), std::string::npos) << summary.retired[0];
  EXPECT_EQ(grids_with(Outcome::ok).size(), kGrids);
}

TEST_F(Engine, WhatOneGpuCannotPrepareAnotherMeasures) {
  ScriptedEvaluator& small = add_gpu();
  const ScriptedEvaluator& large = add_gpu();
  small.unusable = "out of memory";
  sweep();
  EXPECT_TRUE(small.measured.empty());
  EXPECT_EQ(large.measured.size(), kGrids);
}

TEST_F(Engine, WhatNoGpuCanPrepareIsRefusedWithTheReason) {
  ScriptedEvaluator& gpu = add_gpu();
  gpu.unusable = "out of memory";
  sweep();
  EXPECT_EQ(grids_with(Outcome::refused).size(), kGrids);
  EXPECT_EQ(row(3).reason, "out of memory");
  EXPECT_TRUE(gpu.finals.empty());
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

TEST_F(Engine, EqualKernelsShareOneMeasurement) {
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

TEST_F(Engine, WhatCannotBeLaunchedNeverReachesAGpu) {
  write_wide_space(folder_.path(), kGrids, 1, true);
  problems(R"(["1x1x1"])");
  const ScriptedEvaluator& gpu = add_gpu();
  sweep();
  EXPECT_TRUE(gpu.measured.empty());
  EXPECT_TRUE(gpu.prepared.empty());
  EXPECT_EQ(grids_with(Outcome::refused).size(), kGrids);
}

TEST_F(Engine, WhatDoesNotCompileIsARowWithTheCompilersWords) {
  write_file(folder_ / "wide/kernel.cu", "extern \"C\" __global__ void wide() { no such thing; }");
  const ScriptedEvaluator& gpu = add_gpu();
  sweep();
  EXPECT_TRUE(gpu.measured.empty());
  EXPECT_EQ(grids_with(Outcome::compile_failed).size(), kGrids);
  EXPECT_TRUE(carries(row(1).reason, {"identifier \"no\" is undefined"}));
}

/// Two configurations with this reference kernel, neither of which may run.
class BadReference : public Engine {
 protected:
  void expect_refused(const std::string& reference, const std::string& why) {
    write_file(folder_ / "wide/template.json", R"({"name": "wide", "summary": "copies", "operation": {
        "name": "copy", "dimensions": ["n"], "buffers": [
          {"name": "in", "type": "f32", "elements": "n", "role": "in"},
          {"name": "out", "type": "f32", "elements": "n", "role": "out"}],
        "flops": "n", "bytes": "8 * n", "accumulation": "1", "bound": "copy",
        "reference": {"source": "reference.cu", "kernel": "copy_reference", "grid": ["1"], "block": [32]}},
      "source": "kernel.cu", "kernel": "wide", "parameters": [{"name": "X", "values": [1, 2], "meaning": "blocks"}],
      "launch": {"grid": ["X"], "block": [32]}, "arguments": [{"buffer": "in"}, {"buffer": "out"}]})");
    write_file(folder_ / "wide/kernel.cu",
               "extern \"C\" __global__ void wide(const float* in, float* out) { out[0] = in[0]; }");
    write_file(folder_ / "wide/reference.cu", reference);
    problems(R"([{"n": 64}])");
    const ScriptedEvaluator& gpu = add_gpu();
    sweep();
    EXPECT_TRUE(gpu.measured.empty());
    EXPECT_EQ(outcomes(), (std::multiset<Outcome>{Outcome::refused, Outcome::refused}));
    EXPECT_NE(observer_.notes.find(why), std::string::npos) << observer_.notes;
  }
};

TEST_F(BadReference, DoesNotCompile) { expect_refused("no reference", "does not compile"); }

TEST_F(BadReference, TakesOtherArguments) {
  const std::string kernel = "extern \"C\" __global__ void copy_reference";
  expect_refused(kernel + "(const double* in, double* out, int n) { if (n) *out = *in; }", "takes 3");
}

TEST_F(BadReference, TakesArgumentsOfOtherSizes) {
  const std::string kernel = "extern \"C\" __global__ void copy_reference";
  expect_refused(kernel + "(const double* in, float out) {}", "argument 2 of the kernel has 4 B");
}

TEST_F(Engine, AFinalistThatIsWrongLosesItsRankAndAnotherLeads) {
  ScriptedEvaluator& gpu = add_gpu();
  gpu.in_finals = [](unsigned width) { return width == 1 ? Fate{.outcome = Outcome::wrong_result} : Fate{}; };
  sweep();
  EXPECT_EQ(grids_with(Outcome::wrong_result), std::set<unsigned>{1});
  EXPECT_EQ(gpu.finals, (std::vector<Widths>{{1, 2, 3}, {2, 3}})) << "the noise is the leader's";
  EXPECT_EQ(row(2).timed_in, "final");
}

TEST_F(Engine, AFinalistThatEndsTheWorkerIsDisqualifiedAtTheSecondTime) {
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

TEST_F(Engine, WhatWasDroppedAgainstAFaultyLeaderIsTriedAgain) {
  ScriptedEvaluator& gpu = add_gpu();
  gpu.measuring = [](unsigned width) { return Fate{.time_us = width == 4 ? 10.0 : 100.0 + width}; };
  gpu.in_finals = [](unsigned width) { return width == 4 ? Fate{.outcome = Outcome::wrong_result} : Fate{}; };
  sweep();
  EXPECT_EQ(grids_with(Outcome::wrong_result), std::set<unsigned>{4});
  EXPECT_EQ(grids_with(Outcome::ok).size(), kGrids - 1) << "none stays dropped against it";
  EXPECT_EQ(gpu.finals, (std::vector<Widths>{{4, 1, 2}, {1, 2}})) << "the faulty one keeps its place";
  EXPECT_TRUE(carries(observer_.notes, {"tried again"}));
}

TEST_F(Engine, FinalsThatNeverComeToTheirEndAreLeftOut) {
  ScriptedEvaluator& first = add_gpu();
  ScriptedEvaluator& second = add_gpu();
  first.in_finals = second.in_finals = [](unsigned) { return Fate{.lost = Outcome::timeout}; };
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.finals, 0U);
  EXPECT_EQ(summary.finals_left_out, 1U);
  EXPECT_TRUE(carries(observer_.notes, {"left out"}));
  EXPECT_FALSE(summary.failure);
}

}  // namespace engine_test
}  // namespace tiletune
