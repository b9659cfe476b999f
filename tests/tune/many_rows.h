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
class InstantEvaluator : public Evaluator {
 public:
  explicit InstantEvaluator(Target target) : target_(std::move(target)) {}

  const Target& target() const override { return target_; }
  bool measures() const override { return true; }
  void begin_group(const Stage& /*stage*/, const Binary* /*reference*/) override {}
  bool idle() const override { return !done_; }
  int fd() const override { return -1; }
  Clock::time_point deadline() const override { return done_ ? Clock::now() : Clock::time_point::max(); }
  bool running() const override { return done_.has_value(); }
  std::optional<Candidate> abandon() override { return std::nullopt; }

  void submit(Candidate candidate) override {
    constexpr int kSamples = 15;
    const double level = std::uniform_real_distribution<double>(100, 10000)(random_);
    std::uniform_real_distribution<double> noise(0.99, 1.01);
    std::vector<double> samples;
    for (int i = 0; i < kSamples; ++i) samples.push_back(level * noise(random_));
    Measured measured;
    measured.timing = summarise(std::move(samples));
    measured.relative_error = 1e-7;
    measured.error_bound = 1e-5;
    measured.sm_clock_mhz = 1980;
    measured.wall_ms = 1;
    add_measured(candidate.trial, measured, candidate.stage->instantiator.workload(), target_);
    add_baseline(candidate.trial, 500);
    done_ = std::move(candidate);
  }

  std::optional<Evaluation> poll() override {
    if (!done_) return std::nullopt;
    Evaluation evaluation;
    evaluation.finished = std::exchange(done_, std::nullopt);
    return evaluation;
  }

 private:
  Target target_;
  std::mt19937 random_{1};
  std::optional<Candidate> done_;
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

/// An H100 that InstantEvaluator pretends to measure on.
inline Target pretended_target(const std::filesystem::path& home) {
  Target target = target_from_model(find_gpu_model(load_gpu_models(home / "configs/gpus"), "H100"));
  target.source = Source::measured;
  target.driver_version = "580.0";
  target.cuda_version = "13.0";
  return target;
}

/// All of a config's configurations on one such GPU.
inline std::vector<Fleet> pretended_fleet(const TuneSpec& spec, const std::filesystem::path& home) {
  std::vector<Fleet> fleets(1);
  fleets[0].stages = plan_stages(spec);
  fleets[0].evaluators.push_back(std::make_unique<InstantEvaluator>(pretended_target(home)));
  return fleets;
}

}  // namespace tiletune
