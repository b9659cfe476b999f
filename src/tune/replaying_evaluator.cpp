#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/hash.h"
#include "rank/rows.h"
#include "tune/instant_evaluator.h"
#include "tune/replay.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// The recorded row under the candidate's key, as a row of this sweep.
void answer_with(Trial& candidate, Trial recorded) {
  recorded.key = candidate.key;
  recorded.source = candidate.source;
  recorded.sweep_id = candidate.sweep_id;
  recorded.seen_in_sweep = candidate.seen_in_sweep;
  candidate = std::move(recorded);
}

class ReplayingEvaluator : public InstantEvaluator {
 public:
  ReplayingEvaluator(const TuneSpec& spec, const Recording& recording, Target target, Replay& replay)
      : InstantEvaluator(std::move(target)), spec_(spec), recording_(recording), replay_(replay) {}

  bool measures() const override { return false; }
  bool needs_binaries() const override { return false; }
  std::optional<double> simulated_s() const override { return replay_.simulated_s(); }
  void race(FinalsRequest /*request*/) override {
    throw std::logic_error("a recording answers the same however often it is asked");
  }

  void begin_group(const Stage& stage, const Binary* /*reference*/, bool /*calibrate*/) override {
    Evaluation evaluation;
    for (Trial& row : recording_.baselines(make_stage_trial(spec_, stage, target()))) {
      row.key = Hasher().add(name(Source::replayed)).add(row.key).hex();
      row.source = Source::replayed;
      evaluation.baselines.push_back(std::move(row));
    }
    if (!evaluation.baselines.empty()) answer(std::move(evaluation));
  }

  void submit(Candidate candidate) override {
    ReplayedProblem& problem = replay_.problems.at(candidate.stage->group);
    ++problem.evaluations;
    if (auto recorded = recording_.find(candidate.trial)) {
      problem.simulated_s += cost_s(*recorded);
      note(problem, *recorded);
      answer_with(candidate.trial, std::move(*recorded));
    } else {
      ++problem.not_recorded;
      candidate.trial.outcome = Outcome::not_recorded;
      candidate.trial.reason =
          fmt::format("{} has no row of this configuration {} on {} under these conditions", replay_.file,
                      name(replay_.recorded_as), replay_.gpu);
    }
    finish(std::move(candidate));
  }

 private:
  /// What a row does not say, or no clock could have said, is not known to have cost anything, but a compiler
  /// that was stopped at its deadline took that long.
  double cost_s(const Trial& recorded) const {
    constexpr double kMillisecondsPerSecond = 1e3;
    const bool stopped = recorded.outcome == Outcome::compile_timeout && !recorded.compile_ms;
    const double spent_ms = recorded.compile_ms.value_or(0) + recorded.measure_ms.value_or(0);
    const bool plausible = std::isfinite(spent_ms) && spent_ms >= 0;
    return (stopped ? spec_.compile.timeout_s : 0) + (plausible ? spent_ms / kMillisecondsPerSecond : 0);
  }

  static void note(ReplayedProblem& problem, const Trial& recorded) {
    const auto time_us = ranking_time_us(recorded);
    if (!time_us || (!problem.curve.empty() && *time_us >= problem.curve.back().best_us)) return;
    problem.curve.push_back(
        {problem.evaluations, problem.simulated_s, *time_us, recorded.template_name, recorded.parameters});
  }

  const TuneSpec& spec_;
  const Recording& recording_;
  Replay& replay_;
};

}  // namespace

std::unique_ptr<Evaluator> make_replaying_evaluator(const TuneSpec& spec, const Recording& recording,
                                                    Target target, Replay& replay) {
  return std::make_unique<ReplayingEvaluator>(spec, recording, std::move(target), replay);
}

}  // namespace tiletune
