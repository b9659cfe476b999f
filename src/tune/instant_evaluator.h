#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tune/evaluator.h"

namespace tiletune {

/// An evaluator that knows its answers at once: each waits here until it is polled for.
class InstantEvaluator : public Evaluator {
 public:
  explicit InstantEvaluator(Target target) : target_(std::move(target)) {}

  const Target& target() const override { return target_; }
  void prepare_workload(const Task& /*task*/, const WorkloadKernels& /*kernels*/,
                        std::vector<Candidate> /*baselines*/, bool /*calibrate*/) override {}
  bool idle() const override { return !answer_; }
  bool running() const override { return answer_.has_value(); }
  int fd() const override { return -1; }
  Clock::time_point deadline() const override { return answer_ ? Clock::now() : Clock::time_point::max(); }
  std::optional<Candidate> abandon() override { return std::nullopt; }
  std::optional<Evaluation> poll() override { return std::exchange(answer_, std::nullopt); }

 protected:
  void answer(Evaluation evaluation) { answer_ = std::move(evaluation); }
  void finish(Candidate candidate) {
    Evaluation evaluation;
    evaluation.finished = std::move(candidate);
    answer(std::move(evaluation));
  }

 private:
  Target target_;
  std::optional<Evaluation> answer_;
};

}  // namespace tiletune
