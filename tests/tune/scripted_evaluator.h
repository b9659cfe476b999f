#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/evaluator.h"
#include "tune/row.h"

namespace tiletune {

/// What happens to a configuration; by default it takes 100 us and as many more as its grid is wide.
struct Fate {
  std::optional<Outcome> lost = {};  ///< the worker is lost with it: crashed, or timeout
  bool without_fault = false;        ///< which somebody else has killed
  Outcome outcome = Outcome::ok;
  std::optional<double> time_us = {};
};

/// A worker without a GPU that does what a test says. Configurations are known by the width of their grid.
class ScriptedEvaluator : public InstantEvaluator {
 public:
  using Script = std::function<Fate(unsigned width)>;

  explicit ScriptedEvaluator(Target target) : InstantEvaluator(std::move(target)) {}

  Script measuring = [](unsigned) { return Fate{}; };
  Script in_finals = [](unsigned) { return Fate{}; };
  std::optional<Calibration> calibration;     ///< answered where one is asked for
  std::string unusable;                       ///< why no problem can be prepared; empty: each can
  std::vector<std::string> prepared;          ///< problems, in order
  std::vector<unsigned> measured;             ///< grids, in order
  std::vector<WorkloadKernels> given;         ///< kernels of these
  std::vector<std::vector<unsigned>> finals;  ///< of each request
  std::vector<FinalsRequest> requests;        ///< without their kernels

  bool measures() const override { return true; }

  void prepare_workload(const Task& task, const WorkloadKernels& kernels,
                        std::vector<Candidate> /*baselines*/, bool calibrate) override {
    prepared.push_back(task.problem.label());
    given.push_back(kernels);
    Evaluation evaluation;
    evaluation.unusable = unusable;
    if (calibrate) evaluation.calibration = calibration;
    answer(std::move(evaluation));
  }

  void submit(Candidate candidate) override {
    const unsigned width = static_cast<unsigned>(candidate.instance.launches.front().grid.x);
    measured.push_back(width);
    const Fate fate = measuring(width);
    Measured result;
    result.outcome = fate.lost.value_or(fate.outcome);
    if (result.outcome != Outcome::ok) result.reason = "as the test says";
    if (result.outcome == Outcome::ok) {
      result.timing = timing_of(fate, width);
      if (candidate.leader_us && result.timing->median_us > 1.5 * *candidate.leader_us)
        result.outcome = Outcome::screened_out;
    }
    candidate.losses += fate.lost ? 1 : 0;
    add_measured(candidate.trial, result, candidate.task->instantiator.workload(), target());
    finish(std::move(candidate));
  }

  void run_finals(FinalsRequest request) override {
    requests.emplace_back().longest_us = request.longest_us;
    std::vector<unsigned>& widths = finals.emplace_back();
    Evaluation evaluation;
    FinalsMeasured& result = evaluation.finals.emplace();
    for (const MeasureRequest& one : request.finalists)
      widths.push_back(static_cast<unsigned>(one.launches.front().grid.x));
    for (const MeasureRequest& one : request.finalists) {
      const Fate fate = in_finals(static_cast<unsigned>(one.launches.front().grid.x));
      if (fate.lost) {
        evaluation.finals.reset();
        WorkerLost& lost = evaluation.finals_lost.emplace();
        lost.end.ticket = one.ticket;
        lost.end.outcome = *fate.lost;
        lost.end.reason = "as the test says";
        lost.without_fault = fate.without_fault;
        return answer(std::move(evaluation));
      }
      Measured& time = result.times.emplace_back();
      time.ticket = one.ticket;
      time.outcome = fate.outcome;
      if (fate.outcome == Outcome::ok)
        time.timing = timing_of(fate, static_cast<unsigned>(one.launches.front().grid.x));
    }
    Measured& second_copy = result.times.emplace_back(result.times.front());
    second_copy.ticket = 0;
    second_copy.name = "twin";
    answer(std::move(evaluation));
  }

 private:
  static Timing timing_of(const Fate& fate, unsigned width) {
    const double time_us = fate.time_us.value_or(100.0 + width);
    Samples samples;
    for (int i = 0; i < 15; ++i) samples.times_us.push_back(time_us * (1 + 1e-5 * i));
    return summarise(std::move(samples));
  }
};

}  // namespace tiletune
