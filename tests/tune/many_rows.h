#pragma once

#include <filesystem>
#include <random>
#include <string>

#include "base/file.h"
#include "spec/load.h"
#include "tune/evaluator.h"
#include "tune/row.h"
#include "tune/sweep.h"

namespace tiletune {

/// Answers at once with times drawn from a seed, as a GPU might have measured them.
class PretendingEvaluator : public InstantEvaluator {
 public:
  using InstantEvaluator::InstantEvaluator;

  bool measures() const override { return true; }

  void submit(Candidate candidate) override {
    Measured measured;
    measured.timing = draw(std::uniform_real_distribution<double>(100, 10000)(random_), kSamples);
    measured.accuracy = Accuracy{1e-7, 1e-5, 1e-6, "C[0,0]"};
    measured.measure_ms = 1;
    add_measured(candidate.trial, measured, candidate.task->instantiator.workload(), target());
    finish(std::move(candidate));
  }

  void run_finals(FinalsRequest request) override {
    Evaluation evaluation;
    FinalsMeasured& finals = evaluation.finals.emplace();
    for (const MeasureRequest& finalist : request.finalists) {
      Measured& time = finals.times.emplace_back();
      time.ticket = finalist.ticket;
      time.timing = draw(100, kSamples);
    }
    answer(std::move(evaluation));
  }

 private:
  static constexpr int kSamples = 15;

  Timing draw(double level_us, int count) {
    std::uniform_real_distribution<double> noise(0.99, 1.01);
    Samples samples;
    for (int i = 0; i < count; ++i) {
      samples.times_us.push_back(level_us * noise(random_));
      samples.clocks_mhz.push_back(1980);
    }
    return summarise(std::move(samples));
  }

  std::mt19937 random_{1};
};

/// "[1, 2, ..., count]"
inline std::string one_to(std::uint64_t count) {
  std::string text;
  for (std::uint64_t i = 1; i <= count; ++i) text += (i == 1 ? "[" : ", ") + std::to_string(i);
  return text + "]";
}

/// Writes a config of `width` x `height` configurations that differ in their grid alone, so that one binary
/// serves all of them. Refused ones want more shared memory than any GPU has.
inline std::filesystem::path write_wide_space(const std::filesystem::path& folder, std::uint64_t width,
                                              std::uint64_t height, bool refused) {
  write_file(folder / "wide/kernel.cu",
             "extern \"C\" __global__ void wide(const float* A, const float* B, float* C) {\n"
             "  if (blockIdx.x + blockIdx.y == 0) C[0] = A[0] * B[0];\n}\n");
  write_file(folder / "wide/template.json", R"({"name": "wide", "summary": "one product in many grids",
    "operation": "gemm", "source": "kernel.cu", "kernel": "wide",
    "parameters": [{"name": "X", "values": )" + one_to(width) +
                                                R"(, "meaning": "blocks in x"},
                   {"name": "Y", "values": )" + one_to(height) +
                                                R"(, "meaning": "blocks in y"}],
    "launch": {"grid": ["X", "Y"], "block": [32], "dynamic_shared_bytes": )" +
                                                (refused ? "1000000" : "0") + R"(},
    "arguments": [{"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"}]})");
  write_file(folder / "wide.json", R"({"templates": ["wide"], "problems": ["1x1x1"]})");
  return folder / "wide.json";
}

/// An H100 that PretendingEvaluator pretends to measure on.
inline Target pretended_target(const std::filesystem::path& home) {
  Target target = target_from_model(find_gpu_model(load_gpu_models(home / "configs/gpus"), "H100"));
  target.source = Source::measured;
  target.driver_version = "580.0";
  target.cuda_version = "13.0";
  return target;
}

/// All of a config's configurations on one such GPU.
inline std::vector<GpuSet> pretended_gpu_set(const TuneSpec& spec, const std::filesystem::path& home) {
  std::vector<GpuSet> gpu_sets(1);
  gpu_sets[0].tasks = plan_tasks(spec);
  gpu_sets[0].evaluators.push_back(std::make_unique<PretendingEvaluator>(pretended_target(home)));
  return gpu_sets;
}

}  // namespace tiletune
