#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "carries.h"
#include "temporary_folder.h"
#include "tune/engine.h"
#include "tune/many_rows.h"
#include "tune/scripted_evaluator.h"

namespace tiletune {

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
inline ScriptedEvaluator::Script crash_with(unsigned broken) {
  return [=](unsigned width) { return width == broken ? Fate{.lost = Outcome::crashed} : Fate{}; };
}

/// The parts of a sweep, which a test calls one by one. Its kernels are as in Engine, and nobody compiles
/// them.
class Parts : public testing::Test {
 protected:
  void open(std::size_t gpus = 1, const std::string& problems = R"(["1x1x1"])", const Budget& budget = {}) {
    const std::filesystem::path config = write_wide_space(folder_.path(), 8, 1, false);
    write_file(config, R"({"templates": ["wide"], "problems": )" + problems +
                           R"(, "measure": {"finals": {"configurations": 3, "within_percent": 0}}})");
    LoadOptions load;
    load.template_folders = {std::filesystem::path(TILETUNE_SOURCE_DIR) / "kernel_templates"};
    spec_ = load_tune_spec(config, load);
    spec_.budget = budget;
    gpu_sets_.resize(1);
    gpu_sets_[0].tasks = plan_tasks(spec_);
    for (std::size_t i = 0; i < gpus; ++i) {
      Target target = pretended_target(TILETUNE_SOURCE_DIR);
      target.uuid = "GPU-" + std::to_string(i);
      gpu_sets_[0].evaluators.push_back(std::make_unique<ScriptedEvaluator>(std::move(target)));
    }
    options_.compile.cache_folder = folder_ / "cubin";
    options_.compile.program = std::string(TILETUNE_BINARY_DIR) + "/tiletune";
    sweep_.emplace(spec_, gpu_sets_, database_, options_, observer_);
    next_sweep();
  }

  /// As if what was recorded until now were of an earlier sweep.
  void next_sweep() { sweep_->summary.sweep_id = database_.begin_sweep({}); }

  TaskQueue& queue() { return sweep_->queues.front(); }
  GpuSlot& slot(std::size_t gpu = 0) { return queue().slots[gpu]; }
  ScriptedEvaluator& evaluator(std::size_t gpu = 0) {
    return dynamic_cast<ScriptedEvaluator&>(*gpu_sets_[0].evaluators[gpu]);
  }

  /// A configuration with a kernel whose grid is so wide, as if it were compiled.
  Candidate candidate(unsigned width, std::size_t workload = 0) {
    Task& task = queue().task_of(workload);
    Candidate candidate{.task = &task, .index = width - 1};
    instantiate(task, candidate.index, queue().target().model, candidate.instance);
    EXPECT_EQ(candidate.instance.launches.front().grid.x, width);
    const CompileRequest request = sweep_->request(queue(), task, candidate.instance);
    candidate.trial = make_trial(spec_, task, queue().target(), candidate.instance, request);
    candidate.trial.sweep_id = candidate.trial.seen_in_sweep = sweep_->summary.sweep_id;
    candidate.trial.kernel_hash = "of wide";
    candidate.binary = std::make_shared<const Binary>(Binary{"", {"wide"}, cubin_});
    name_row(spec_, queue(), candidate);
    return candidate;
  }
  /// The same, as a worker would leave it: 100 us and as many more as its grid is wide.
  Candidate measured(unsigned width, Outcome outcome = Outcome::ok, std::size_t workload = 0) {
    Candidate one = candidate(width, workload);
    Measured measured;
    measured.outcome = outcome;
    measured.timing = summarise({.times_us = std::vector<double>(15, 100.0 + width)});
    add_measured(one.trial, measured, one.task->instantiator.workload(), queue().target());
    return one;
  }

  std::optional<Trial> row(unsigned width) { return database_.find(candidate(width).trial.key); }
  std::vector<Trial> rows() const { return database_.trials(TrialFilter()); }

  TemporaryFolder folder_;
  Database database_{folder_ / "results.db", Database::Mode::read_write};
  NoteTaker observer_;
  SweepOptions options_;
  TuneSpec spec_;
  std::string cubin_ = "a cubin";
  std::vector<GpuSet> gpu_sets_;
  std::optional<SweepContext> sweep_;
};

}  // namespace tiletune
