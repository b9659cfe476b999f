#include "tune/evaluator.h"

#include <fmt/format.h>

#include <iterator>

#include "tune/ceilings.h"
#include "tune/row.h"

namespace tiletune {

namespace {

class MeasuringEvaluator : public Evaluator {
 public:
  MeasuringEvaluator(const TuneSpec& spec, std::unique_ptr<GpuClient> client, Target target,
                     Patience patience)
      : spec_(spec), client_(std::move(client)), target_(std::move(target)), patience_(patience) {}

  const Target& target() const override { return target_; }
  bool measures() const override { return true; }
  bool idle() const override { return client_->idle() && !restart_at_; }
  bool running() const override { return client_->measuring(); }
  int fd() const override { return client_->fd(); }

  Clock::time_point deadline() const override { return restart_at_ ? *restart_at_ : client_->deadline(); }

  void prepare_workload(const Task& task, const WorkloadKernels& kernels, std::vector<Candidate> baselines,
                        bool calibrate) override {
    workload_ = &task;
    baselines_.clear();
    waiting_baselines_.assign(std::make_move_iterator(baselines.begin()),
                              std::make_move_iterator(baselines.end()));
    baseline_.reset();
    workload_prepared_ = false;
    request_ = prepare_request(spec_, task, kernels);
    request_.calibrate = calibrate;
    client_->prepare(request_);
  }

  void submit(Candidate candidate) override {
    candidate_ = std::move(candidate);
    if (client_->ready()) return dispatch();
    client_->prepare_again();
  }

  void run_finals(FinalsRequest request) override {
    finals_ = std::move(request);
    if (client_->ready()) return dispatch();
    client_->prepare_again();
  }

  std::optional<Evaluation> poll() override {
    if (restart_at_ && Clock::now() >= *restart_at_) {
      restart_at_.reset();
      client_->prepare_again();
    }
    auto event = client_->poll();
    if (!event) return std::nullopt;
    return std::visit([this](auto& what) { return take(what); }, *event);
  }

  std::optional<Candidate> abandon() override {
    client_->stop();
    restart_at_.reset();
    dispatched_ = false;
    finals_.reset();
    baseline_.reset();
    return std::exchange(candidate_, std::nullopt);
  }

 private:
  void dispatch() {
    dispatched_ = true;
    if (finals_) return client_->dispatch(*finals_);
    MeasureRequest request = measure_request(*candidate_->task, candidate_->instance, *candidate_->binary);
    request.ticket = ++ticket_;
    request.leader_us = candidate_->leader_us;
    request.outputs = candidate_->outputs;
    if (!request_.checks.empty())
      request.checks =
          check_launches(*candidate_->task, candidate_->instance, *candidate_->binary, target_.model);
    client_->dispatch(request);
  }

  Evaluation finish() {
    dispatched_ = false;
    return {.finished = std::exchange(candidate_, std::nullopt)};
  }

  std::optional<Evaluation> take(const PrepareFailed& failed) {
    if (workload_prepared_) return restart_later(failed.reason);
    return Evaluation{.unusable = failed.reason};
  }

  std::optional<Evaluation> take(const Measured& measured) {
    if (baseline_) return baseline_measured(measured);
    describe(measured);
    Evaluation evaluation = finish();
    // Other programs on the GPU are reported once; each row they may have disturbed carries a warning.
    const std::string& neighbours = measured.condition.neighbours;
    if (!neighbours.empty() && !std::exchange(reported_neighbours_, true))
      evaluation.note =
          fmt::format("another program uses {} and disturbs its times: {}", target_.name, neighbours);
    return evaluation;
  }

  std::optional<Evaluation> take(const FinalsTurn& turn) { return Evaluation{.turn = turn.ticket}; }

  std::optional<Evaluation> take(FinalsMeasured& finals) {
    finals_.reset();
    dispatched_ = false;
    return Evaluation{.finals = std::move(finals)};
  }

  void describe(const Measured& measured) {
    add_measured(candidate_->trial, measured, candidate_->task->instantiator.workload(), target_);
    if (candidate_->leader_us) add_screening(candidate_->trial, *candidate_->leader_us);
    compare(candidate_->trial);
  }

  void compare(Trial& row) const {
    add_baseline(row, baselines_);
    if (row.baseline_us) row.baseline_error = row.baseline_error.value_or(0);
  }

  std::optional<Evaluation> take(const Prepared& prepared) {
    restarts_ = 0;
    if (!std::exchange(workload_prepared_, true)) {
      for (const Measured& baseline : prepared.baselines)
        baselines_.push_back(make_baseline_trial(spec_, *workload_, target_, baseline));
      return measure_next_baseline({.calibration = prepared.calibration, .note = prepared.note});
    }
    if (!waiting_baselines_.empty()) return measure_next_baseline({});
    if (!candidate_ && !finals_) return std::nullopt;
    if (dispatched_) return finish();  // the GPU works without the candidate that its worker was lost with
    dispatch();
    return std::nullopt;
  }

  /// All rows of baselines at once, when the last of them is known.
  Evaluation measure_next_baseline(Evaluation evaluation) {
    if (!waiting_baselines_.empty() && !client_->ready()) {
      client_->prepare_again();
    } else if (!waiting_baselines_.empty()) {
      baseline_ = std::move(waiting_baselines_.front());
      waiting_baselines_.pop_front();
      MeasureRequest request = measure_request(*baseline_->task, baseline_->instance, *baseline_->binary);
      request.ticket = ++ticket_;
      client_->dispatch(request);
    } else {
      for (Trial& row : baselines_) compare(row);
      evaluation.baselines = baselines_;
    }
    return evaluation;
  }

  /// A baseline that does not run as it should is left out.
  Evaluation baseline_measured(const Measured& measured) {
    Trial& row = baseline_->trial;
    add_measured(row, measured, baseline_->task->instantiator.workload(), target_);
    row.gpu_uuid = target_.uuid;
    Evaluation evaluation;
    if (row.outcome == Outcome::ok && measured.timing) {
      baselines_.push_back(std::move(row));
    } else {
      evaluation.note = left_out_as_baseline(row);
    }
    baseline_.reset();
    return measure_next_baseline(std::move(evaluation));
  }

  std::optional<Evaluation> take(const WorkerLost& lost) {
    if (finals_ && dispatched_) {  // The next request starts another worker.
      finals_.reset();
      dispatched_ = false;
      return Evaluation{.finals_lost = lost};
    }
    if (baseline_) return baseline_measured(lost.end);
    const bool with_candidate = dispatched_ && candidate_->trial.outcome == Outcome::dispatched;
    if (with_candidate) return lost_with_candidate(lost);
    if (!workload_prepared_ && drop_candidate(lost)) return std::nullopt;
    if (!workload_prepared_ && !lost.without_fault && !lost.while_opening) {
      return Evaluation{.unusable =
                            "the GPU worker was lost while it prepared the problem: " + lost.end.reason};
    }
    return restart_later(lost.end.reason);
  }

  /// A configuration that takes the worker with it has no part in the reference.
  bool drop_candidate(const WorkerLost& lost) {
    if (lost.without_fault) return false;
    const auto count = std::erase_if(request_.candidates, [&](const MeasureRequest& candidate) {
      return candidate.ticket == lost.end.ticket;
    });
    if (count == 0 || static_cast<int>(request_.candidates.size()) < request_.agreeing) return false;
    client_->prepare(request_);
    return true;
  }

  std::optional<Evaluation> lost_with_candidate(const WorkerLost& lost) {
    ++candidate_->losses;
    candidate_->lost_without_fault = lost.without_fault;
    describe(lost.end);
    if (client_->losses_in_a_row() > patience_.most_losses) {
      return retire(fmt::format("its worker was lost {} times in a row; last error: {}",
                                client_->losses_in_a_row(), lost.end.reason));
    }
    client_->prepare_again();
    return std::nullopt;
  }

  std::optional<Evaluation> restart_later(const std::string& reason) {
    if (++restarts_ >= patience_.most_restarts) {
      return retire(
          fmt::format("its worker could not be restarted in {} attempts; last error: {}", restarts_, reason));
    }
    client_->stop();
    restart_at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                                     patience_.restart_s * std::pow(2, restarts_ - 1)));
    return std::nullopt;
  }

  Evaluation retire(const std::string& reason) {
    Evaluation evaluation =
        dispatched_ ? finish() : Evaluation{.returned = std::exchange(candidate_, std::nullopt)};
    evaluation.retired = reason;
    finals_.reset();
    baseline_.reset();
    client_->stop();
    return evaluation;
  }

  const TuneSpec& spec_;
  std::unique_ptr<GpuClient> client_;
  Target target_;
  Patience patience_;
  const Task* workload_ = nullptr;
  PrepareRequest request_;  ///< of the workload
  bool reported_neighbours_ = false;
  bool workload_prepared_ = false;           ///< at least once
  std::vector<Trial> baselines_;             ///< of the workload
  std::deque<Candidate> waiting_baselines_;  ///< to be measured
  std::optional<Candidate> baseline_;        ///< that a worker measures
  std::optional<Candidate> candidate_;
  std::optional<FinalsRequest> finals_;  ///< and no candidate
  bool dispatched_ = false;              ///< the candidate, or the finals, have been sent to a worker
  int restarts_ = 0;                     ///< attempts since the worker was last ready
  std::optional<Clock::time_point> restart_at_;
  std::uint64_t ticket_ = 0;
};

class PredictingEvaluator : public InstantEvaluator {
 public:
  using InstantEvaluator::InstantEvaluator;

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

std::unique_ptr<Evaluator> make_measuring_evaluator(const TuneSpec& spec, std::unique_ptr<GpuClient> client,
                                                    Target target, Patience patience) {
  return std::make_unique<MeasuringEvaluator>(spec, std::move(client), std::move(target), patience);
}

std::unique_ptr<Evaluator> make_predicting_evaluator(Target target) {
  return std::make_unique<PredictingEvaluator>(std::move(target));
}

}  // namespace tiletune
