#include "tune/sweep.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "tune/provenance.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// Compiled candidates that may wait for the evaluator; bounds memory and how far compiling runs ahead.
constexpr std::size_t kMostReady = 64;
/// Proposals between two looks at the workers and at Ctrl-C, when all of them are known from before.
constexpr int kMostProposals = 256;
constexpr auto kLongestWait = std::chrono::milliseconds(200);

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Sweep {
 public:
  Sweep(const TuneSpec& spec, std::vector<Stage>& stages, Evaluator& evaluator, Database& database,
        const SweepOptions& options, SweepObserver& observer)
      : spec_(spec),
        stages_(stages),
        evaluator_(evaluator),
        database_(database),
        options_(options),
        observer_(observer),
        pool_(options.compile) {}

  SweepSummary run() {
    summary_.sweep_id = database_.begin_sweep(sweep_record());
    for (const Stage& stage : stages_) summary_.planned += stage.planned;
    try {
      while (!done()) step();
    } catch (const GpuError& error) {
      summary_.gpu_failure = error.what();
    }
    summary_.wall_s = seconds_since(started_);
    summary_.compile_cpu_s = pool_.compile_cpu_seconds();
    database_.end_sweep(summary_.sweep_id, utc_now());
    return summary_;
  }

 private:
  void step() {
    propose();
    admit_compiled();
    evaluate();
    report();
    wait();
  }

  SweepRecord sweep_record() const {
    SweepRecord record;
    record.started_at = utc_now();
    record.command = options_.command;
    record.config_file = spec_.file.string();
    record.config = spec_.config_json;
    record.git_commit = git_commit(std::filesystem::absolute(spec_.file).parent_path());
    record.host = host_name();
    record.gpu = evaluator_.target().name;
    return record;
  }

  bool done() {
    stop_early();
    if (!evaluator_.idle()) return false;
    return stopping_ || (compiling_.empty() && ready_.empty() && current_stage() == nullptr);
  }

  /// Ctrl-C and the time budget: nothing new is started, and only the evaluator is waited for. What is being
  /// compiled or waits compiled has no row yet; the next run of the sweep finds it in the kernel cache.
  void stop_early() {
    summary_.interrupted = options_.interrupted();
    if (stopping_) return;
    summary_.out_of_budget = spec_.budget.seconds > 0 && seconds_since(started_) >= spec_.budget.seconds;
    stopping_ = summary_.interrupted || summary_.out_of_budget;
    if (stopping_) ready_.clear();
  }

  /// The first stage with proposals left.
  Stage* current_stage() {
    while (next_stage_ < stages_.size() && stages_[next_stage_].proposed >= stages_[next_stage_].planned)
      ++next_stage_;
    return next_stage_ < stages_.size() ? &stages_[next_stage_] : nullptr;
  }

  void propose() {
    const std::size_t most_compiling = 4 * static_cast<std::size_t>(pool_.workers());
    for (int started = 0; started < kMostProposals; ++started) {
      if (stopping_ || compiling_.size() >= most_compiling || ready_.size() >= kMostReady) return;
      Stage* stage = current_stage();
      if (stage == nullptr) return;
      const auto index = stage->strategy->propose();
      if (!index) {
        stage->planned = stage->proposed;
        continue;
      }
      ++stage->proposed;
      start(*stage, *index);
    }
  }

  void start(Stage& stage, std::uint64_t index) {
    Candidate candidate;
    candidate.stage = &stage;
    candidate.index = index;
    const std::string impossible = instantiate(candidate);
    CompileRequest request = make_compile_request(*stage.spec, spec_.compile, *stage.sources,
                                                  candidate.instance, evaluator_.target().architecture);
    candidate.trial = make_trial(spec_, stage, evaluator_.target(), candidate.instance, request);
    candidate.trial.sweep_id = candidate.trial.seen_in_sweep = summary_.sweep_id;
    if (reuse(candidate)) return;
    if (!impossible.empty()) return refuse(std::move(candidate), impossible);
    const Admission admission = admit_launch(evaluator_.target().model, *stage.spec, candidate.instance);
    if (!admission.admitted) {
      add_admission(candidate.trial, admission);
      return record(std::move(candidate));
    }
    const std::uint64_t ticket = ++tickets_;
    pool_.submit(ticket, std::move(request));
    compiling_.emplace(ticket, std::move(candidate));
  }

  /// Fills in the instance. A configuration whose launch or arguments cannot be evaluated keeps its
  /// parameters alone; then the reason is returned.
  static std::string instantiate(Candidate& candidate) {
    const Configuration configuration = candidate.stage->space.at(candidate.index);
    try {
      candidate.instance = candidate.stage->instantiator.instantiate(configuration);
      return "";
    } catch (const UserError& error) {
      candidate.instance = Instance{};
      candidate.instance.parameters = configuration.named(*candidate.stage->spec);
      return error.what();
    }
  }

  /// What a GPU or the compiler has answered. Refusals and what a deadline or a lost compiler ended cost
  /// little to try again, and may have been due to a limit, or to memory that another process held.
  static bool is_worth_keeping(Outcome outcome) {
    return outcome != Outcome::dispatched && outcome != Outcome::refused &&
           outcome != Outcome::compile_timeout && outcome != Outcome::compile_crashed;
  }

  void refuse(Candidate candidate, const std::string& reason) {
    candidate.trial.outcome = Outcome::refused;
    candidate.trial.reason = reason;
    record(std::move(candidate));
  }

  bool reuse(const Candidate& candidate) {
    if (options_.remeasure) return false;
    const auto row = database_.find(candidate.trial.key);
    if (!row || !is_worth_keeping(row->outcome)) return false;
    database_.mark_seen(candidate.trial.key, summary_.sweep_id);
    if (!std::exchange(baseline_seen_[candidate.stage->group], true)) {
      database_.mark_baseline_seen(*row, summary_.sweep_id);
    }
    ++summary_.reused;
    count(candidate, *row);
    return true;
  }

  void admit_compiled() {
    for (auto& [ticket, compiled] : pool_.take_finished()) {
      const auto found = compiling_.find(ticket);
      Candidate candidate = std::move(found->second);
      compiling_.erase(found);
      if (stopping_) continue;
      admit(std::move(candidate), compiled);
    }
  }

  void admit(Candidate candidate, const Compiled& compiled) {
    if (compiled.outcome != Outcome::ok) {
      candidate.trial.outcome = compiled.outcome;
      candidate.trial.reason = compiled.reason;
      return record(std::move(candidate));
    }
    candidate.binary = compiled.binary;
    candidate.trial.compile_ms = compiled.binary->compile_ms;
    try {
      candidate.resources = read_resources(*compiled.binary);
    } catch (const UserError& error) {
      return refuse(std::move(candidate), error.what());
    }
    add_resources(candidate.trial, candidate.resources, candidate.instance);
    const Admission admission = admit_binary(evaluator_.target().model, *candidate.stage->spec,
                                             candidate.instance, candidate.resources, spec_.limits);
    add_admission(candidate.trial, admission);
    if (!admission.admitted) return record(std::move(candidate));
    candidate.occupancy = *admission.occupancy;
    ready_.push_back(std::move(candidate));
  }

  void evaluate() {
    while (true) {
      while (auto evaluation = evaluator_.poll()) take(std::move(*evaluation));
      if (stopping_ || !evaluator_.idle()) return;
      const auto next = next_ready();
      if (next == ready_.end()) return;
      if (!group_ || *group_ != next->stage->group) {
        group_ = next->stage->group;
        evaluator_.begin_group(*next->stage);
        busy_since_ = Clock::now();
        continue;
      }
      Candidate candidate = std::move(*next);
      ready_.erase(next);
      if (evaluator_.can_be_lost()) {
        candidate.trial.outcome = Outcome::dispatched;
        database_.record(candidate.trial);
      }
      evaluator_.submit(std::move(candidate));
      busy_since_ = Clock::now();
    }
  }

  /// A ready candidate of the lowest group that has anything left, if one is ready: changing groups rebuilds
  /// buffers and reference, so the next group waits until this one is done. Proposals come group by group, so
  /// a lowest group without a ready candidate is being compiled, and compiling has a deadline.
  std::deque<Candidate>::iterator next_ready() {
    std::size_t lowest = current_stage() != nullptr ? current_stage()->group : SIZE_MAX;
    for (const auto& entry : compiling_) lowest = std::min(lowest, entry.second.stage->group);
    for (const Candidate& candidate : ready_) lowest = std::min(lowest, candidate.stage->group);
    return std::find_if(ready_.begin(), ready_.end(),
                        [&](const Candidate& candidate) { return candidate.stage->group == lowest; });
  }

  void take(Evaluation evaluation) {
    summary_.evaluate_s += seconds_since(busy_since_);
    busy_since_ = Clock::now();
    if (!evaluation.note.empty()) observer_.on_note(evaluation.note);
    if (evaluation.baseline) {
      evaluation.baseline->sweep_id = evaluation.baseline->seen_in_sweep = summary_.sweep_id;
      database_.record(*evaluation.baseline);
    }
    if (evaluation.finished) record(std::move(*evaluation.finished));
  }

  void record(Candidate candidate) {
    candidate.trial.recorded_at = utc_now();
    database_.record(candidate.trial);
    ++summary_.outcomes[candidate.trial.outcome];
    count(candidate, candidate.trial);
  }

  void count(const Candidate& candidate, const Trial& row) {
    ++summary_.finished;
    ++candidate.stage->finished;
    const bool ran = row.outcome == Outcome::ok && row.median_us;
    candidate.stage->strategy->observe(candidate.index, ran ? row.median_us : std::nullopt);
    last_stage_ = candidate.stage;
    if (!ran) return;
    std::optional<Trial>& best = best_[row.problem];
    if (!best || *row.median_us < *best->median_us) best = row;
  }

  void report() {
    ProgressState state;
    state.done = summary_.finished;
    for (const Stage& stage : stages_) state.total += stage.planned;
    const Stage& stage = last_stage_ != nullptr ? *last_stage_ : stages_.front();
    state.stage = stage.label();
    state.best = best_text(stage.problem.label());
    observer_.on_progress(state);
  }

  std::string best_text(const std::string& problem) const {
    const auto found = best_.find(problem);
    if (found == best_.end() || !found->second) return "";
    const Trial& best = *found->second;
    std::string text = fmt::format("{:.1f} TFLOP/s", best.tflops.value_or(0));
    if (best.percent_of_baseline) text += fmt::format(", {:.1f}% of cuBLAS", *best.percent_of_baseline);
    return text + " (" + best.template_name + ")";
  }

  /// Sleeps until a worker has something to say, a deadline is due, or a moment has passed.
  void wait() {
    if (current_stage() != nullptr && compiling_.empty() && ready_.empty() && !stopping_) return;
    std::vector<pollfd> descriptors;
    for (const int fd : pool_.fds()) descriptors.push_back({fd, POLLIN, 0});
    if (evaluator_.fd() >= 0) descriptors.push_back({evaluator_.fd(), POLLIN, 0});
    const auto due = std::min(pool_.next_deadline(), evaluator_.deadline());
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    const auto timeout = std::clamp(left, std::chrono::milliseconds(0), kLongestWait);
    ::poll(descriptors.data(), descriptors.size(), static_cast<int>(timeout.count()));
  }

  const TuneSpec& spec_;
  std::vector<Stage>& stages_;
  Evaluator& evaluator_;
  Database& database_;
  const SweepOptions& options_;
  SweepObserver& observer_;
  CompilePool pool_;
  SweepSummary summary_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point busy_since_ = Clock::now();
  bool stopping_ = false;
  std::size_t next_stage_ = 0;
  std::optional<std::size_t> group_;
  std::uint64_t tickets_ = 0;
  std::unordered_map<std::uint64_t, Candidate> compiling_;
  std::deque<Candidate> ready_;
  std::map<std::string, std::optional<Trial>> best_;
  std::map<std::size_t, bool> baseline_seen_;  ///< by group
  const Stage* last_stage_ = nullptr;
};

}  // namespace

SweepSummary run_sweep(const TuneSpec& spec, std::vector<Stage>& stages, Evaluator& evaluator,
                       Database& database, const SweepOptions& options, SweepObserver& observer) {
  return Sweep(spec, stages, evaluator, database, options, observer).run();
}

}  // namespace tiletune
