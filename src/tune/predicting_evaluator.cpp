#include <optional>
#include <stdexcept>
#include <utility>

#include "inspect/predict.h"
#include "tune/evaluator.h"
#include "tune/roofline.h"
#include "tune/row.h"

namespace tiletune {

namespace {

class PredictingEvaluator : public InstantEvaluator {
 public:
  using InstantEvaluator::InstantEvaluator;

  bool measures() const override { return false; }
  void run_finals(FinalsRequest /*request*/) override {
    throw std::logic_error("a model gives the same answer every time");
  }

  void submit(Candidate candidate) override {
    const Workload& workload = candidate.task->instantiator.workload();
    const Prediction prediction = predict(target().model, target().static_model, workload, candidate.instance,
                                          *candidate.binary, candidate.occupancies);
    Trial& trial = candidate.trial;
    trial.outcome = Outcome::ok;
    trial.predicted_us = prediction.time_us;
    trial.median_us = prediction.time_us;
    add_throughput(trial, workload, target());
    add_roofline(trial, *candidate.task, std::nullopt);
    finish(std::move(candidate));
  }
};

}  // namespace

std::unique_ptr<Evaluator> make_predicting_evaluator(Target target) {
  return std::make_unique<PredictingEvaluator>(std::move(target));
}

}  // namespace tiletune
