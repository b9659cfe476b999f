#include <utility>

#include "inspect/predict.h"
#include "tune/evaluator.h"

namespace tiletune {

namespace {

class PredictingEvaluator : public Evaluator {
 public:
  explicit PredictingEvaluator(Target target) : target_(std::move(target)) {}

  const Target& target() const override { return target_; }
  bool measures() const override { return false; }
  void begin_group(const Stage& /*stage*/, const Binary* /*reference*/) override {}
  bool idle() const override { return !done_; }
  int fd() const override { return -1; }
  Clock::time_point deadline() const override { return done_ ? Clock::now() : Clock::time_point::max(); }
  bool running() const override { return done_.has_value(); }
  std::optional<Candidate> abandon() override { return std::nullopt; }

  void submit(Candidate candidate) override {
    const Workload& workload = candidate.stage->instantiator.workload();
    const Prediction prediction = predict(target_.model, workload, candidate.instance, *candidate.binary,
                                          candidate.resources, candidate.occupancy);
    Trial& trial = candidate.trial;
    trial.outcome = Outcome::ok;
    trial.predicted_us = prediction.time_us;
    trial.median_us = prediction.time_us;
    constexpr double kFlopPerMicrosecondInTeraflops = 1e-6;
    trial.tflops = workload.flops / prediction.time_us * kFlopPerMicrosecondInTeraflops;
    trial.percent_of_peak = 100 * *trial.tflops / target_.model.fp32_peak_tflops();
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
  std::optional<Candidate> done_;
};

}  // namespace

std::unique_ptr<Evaluator> make_predicting_evaluator(Target target) {
  return std::make_unique<PredictingEvaluator>(std::move(target));
}

}  // namespace tiletune
