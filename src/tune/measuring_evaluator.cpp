#include <utility>

#include "tune/evaluator.h"
#include "tune/row.h"

namespace tiletune {

namespace {

class MeasuringEvaluator : public Evaluator {
 public:
  MeasuringEvaluator(const TuneSpec& spec, std::unique_ptr<GpuClient> client, Target target)
      : spec_(spec), client_(std::move(client)), target_(std::move(target)) {}

  const Target& target() const override { return target_; }
  bool idle() const override { return client_->idle() && !pending_; }
  int fd() const override { return client_->fd(); }
  Clock::time_point deadline() const override { return pending_ ? Clock::now() : client_->deadline(); }
  bool can_be_lost() const override { return true; }

  void begin_group(const Stage& stage) override {
    group_ = &stage;
    baseline_us_.reset();
    unusable_.clear();
    client_->prepare(prepare_request(spec_, stage, target_));
  }

  void submit(Candidate candidate) override {
    candidate_ = std::move(candidate);
    if (!unusable_.empty()) {
      candidate_->trial.outcome = Outcome::refused;
      candidate_->trial.reason = unusable_;
      pending_ = true;
      return;
    }
    MeasureRequest request;
    request.ticket = ++ticket_;
    request.cubin = candidate_->binary->cubin;
    request.symbol = candidate_->binary->kernel_symbol;
    request.shape = launch_shape(candidate_->instance);
    request.arguments = candidate_->instance.arguments;
    request.tolerance_factor = candidate_->stage->spec->tolerance_factor;
    client_->dispatch(request);
  }

  std::optional<Evaluation> poll() override {
    if (std::exchange(pending_, false)) return finish();
    auto event = client_->poll();
    if (!event) return std::nullopt;
    if (event->kind == GpuEvent::Kind::prepared) return prepared(event->prepared);
    if (event->kind == GpuEvent::Kind::prepare_failed) return unusable(event->reason);
    if (!candidate_) return unusable(event->measured.reason);
    const Workload& workload = candidate_->stage->instantiator.workload();
    add_measured(candidate_->trial, event->measured, workload, target_);
    if (baseline_us_) add_baseline(candidate_->trial, *baseline_us_);
    return finish();
  }

 private:
  Evaluation finish() {
    Evaluation evaluation;
    evaluation.finished = std::exchange(candidate_, std::nullopt);
    return evaluation;
  }

  Evaluation prepared(const Prepared& prepared) {
    Evaluation evaluation;
    evaluation.note = prepared.note;
    if (prepared.baseline) {
      baseline_us_ = prepared.baseline->median_us;
      evaluation.baseline = make_baseline_trial(spec_, *group_, target_, prepared);
    }
    return evaluation;
  }

  /// The group's candidates are refused with the reason instead of being lost one by one.
  Evaluation unusable(const std::string& reason) {
    unusable_ = reason;
    Evaluation evaluation;
    evaluation.note = group_->problem.label() + " cannot be measured: " + reason;
    return evaluation;
  }

  const TuneSpec& spec_;
  std::unique_ptr<GpuClient> client_;
  Target target_;
  const Stage* group_ = nullptr;
  std::optional<Candidate> candidate_;
  std::optional<double> baseline_us_;
  std::string unusable_;
  bool pending_ = false;
  std::uint64_t ticket_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> make_measuring_evaluator(const TuneSpec& spec, std::unique_ptr<GpuClient> client,
                                                    Target target) {
  return std::make_unique<MeasuringEvaluator>(spec, std::move(client), std::move(target));
}

}  // namespace tiletune
