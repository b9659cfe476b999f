#include "tune/sweep.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.h"
#include "tune/lane.h"
#include "tune/provenance.h"
#include "tune/row.h"
#include "tune/scoreboard.h"

namespace tiletune {

namespace {

/// Compiled candidates of a fleet that may wait for its evaluators; bounds memory and how far compiling runs
/// ahead.
constexpr std::size_t kMostReady = 64;
/// Proposals between two looks at the workers and at Ctrl-C, when all of them are known from before.
constexpr int kMostProposals = 256;
/// So many configurations that a GPU lost its worker with must have run on another one before it is given up.
constexpr int kMostDisproved = 3;
constexpr auto kLongestWait = std::chrono::milliseconds(200);

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Whether a row answers its question. Refusals and what a deadline or a lost compiler ended cost little to
/// try again, and may have been due to a limit, or to memory that another process held.
bool is_worth_keeping(Outcome outcome) {
  return outcome != Outcome::dispatched && outcome != Outcome::refused &&
         outcome != Outcome::compile_timeout && outcome != Outcome::compile_crashed;
}

/// "NVIDIA H200 (GPU-...)"
std::string gpu_text(const Post& post) {
  const Target& target = post.evaluator->target();
  return fmt::format("{} ({})", target.name, target.uuid);
}

class Sweep {
 public:
  Sweep(const TuneSpec& spec, std::vector<Fleet>& fleets, Database& database, const SweepOptions& options,
        SweepObserver& observer)
      : spec_(spec),
        database_(database),
        options_(options),
        observer_(observer),
        pool_(options.compile),
        lanes_(fleets.begin(), fleets.end()) {}

  SweepSummary run() {
    summary_.sweep_id = database_.begin_sweep(sweep_record());
    for (Lane& lane : lanes_) {
      for (const Stage& stage : lane.stages()) summary_.planned += stage.planned;
    }
    try {
      while (!done()) step();
      check_survivors();
    } catch (const UserError&) {
      summary_.failure = std::current_exception();
    } catch (const GpuError&) {
      summary_.failure = std::current_exception();
    }
    finish();
    return summary_;
  }

 private:
  void step() {
    propose();
    admit_compiled();
    for (Lane& lane : lanes_) {
      for (Post& post : lane.posts) evaluate(lane, post);
    }
    report();
    wait();
  }

  SweepRecord sweep_record() {
    SweepRecord record;
    record.started_at = utc_now();
    record.command = options_.command;
    record.config_file = spec_.file.string();
    record.config = spec_.config_json;
    record.git_commit = git_commit(std::filesystem::absolute(spec_.file).parent_path());
    record.host = host_name();
    for (const Lane& lane : lanes_) {
      if (!record.gpu.empty()) record.gpu += ", ";
      if (lane.posts.size() > 1) record.gpu += fmt::format("{} x ", lane.posts.size());
      record.gpu += lane.target().name;
    }
    return record;
  }

  void finish() {
    summary_.wall_s = seconds_since(started_);
    summary_.compile_cpu_s = pool_.compile_cpu_seconds();
    try {
      database_.end_sweep(summary_.sweep_id, utc_now());
    } catch (const UserError&) {
      if (!summary_.failure) summary_.failure = std::current_exception();
    }
  }

  bool done() {
    stop_early();
    if (stopping_) abandon_preparations();
    return std::all_of(lanes_.begin(), lanes_.end(), [&](Lane& lane) {
      return lane.idle() && (stopping_ || !lane.alive() || lane.exhausted());
    });
  }

  /// Ctrl-C and the time budget: nothing new is started, and only the evaluators are waited for. What is
  /// being compiled or waits compiled has no row yet; the next run of the sweep finds it in the kernel cache.
  void stop_early() {
    if (options_.interrupted() && !std::exchange(summary_.interrupted, true))
      observer_.on_note("finishing what is being measured; interrupt again to stop at once");
    if (stopping_) return;
    summary_.out_of_budget = spec_.budget.seconds > 0 && seconds_since(started_) >= spec_.budget.seconds;
    stopping_ = summary_.interrupted || summary_.out_of_budget;
    if (!stopping_) return;
    for (Lane& lane : lanes_) lane.ready.clear();
  }

  /// Only what runs on a GPU is worth waiting for; a worker that is being started is not.
  void abandon_preparations() {
    for (Lane& lane : lanes_) {
      for (Post& post : lane.posts) {
        if (post.retired || post.evaluator->idle() || post.evaluator->running()) continue;
        auto candidate = post.evaluator->abandon();
        const bool judged = candidate && candidate->trial.outcome != Outcome::dispatched &&
                            !deserves_another_try(lane, post, *candidate);
        if (judged) record(std::move(*candidate));
      }
    }
  }

  /// Throws when a part of the sweep has lost all its GPUs before its end.
  void check_survivors() {
    if (stopping_) return;
    for (Lane& lane : lanes_) {
      if (!lane.alive() && !lane.exhausted()) {
        throw GpuError(fmt::format("no {} is left to go on with; {}. Run the same command again to go on.",
                                   lane.target().name, lane.last_retired));
      }
    }
  }

  std::size_t compiling() const {
    std::size_t count = 0;
    for (const Lane& lane : lanes_) count += lane.compiling.size();
    return count;
  }

  /// The lane that is nearest to having nothing to measure.
  Lane* hungriest() {
    Lane* hungriest = nullptr;
    const auto supplies = [](const Lane& lane) { return lane.compiling.size() + lane.ready.size(); };
    for (Lane& lane : lanes_) {
      const bool wants = lane.alive() && lane.ready.size() < kMostReady && lane.has_proposals();
      if (wants && (hungriest == nullptr || supplies(lane) < supplies(*hungriest))) hungriest = &lane;
    }
    return hungriest;
  }

  void propose() {
    const std::size_t most_compiling = 4 * static_cast<std::size_t>(pool_.workers());
    for (int started = 0; started < kMostProposals; ++started) {
      if (stopping_ || compiling() >= most_compiling) return;
      Lane* lane = hungriest();
      if (lane == nullptr) return;
      if (const auto proposal = lane->propose()) start(*lane, *proposal);
    }
  }

  void start(Lane& lane, const Proposal& proposal) {
    Candidate candidate;
    candidate.stage = proposal.stage;
    candidate.index = proposal.index;
    candidate.deferred = proposal.deferred;
    const std::string impossible = instantiate(*proposal.stage, proposal.index, candidate.instance);
    const Target& target = lane.target();
    CompileRequest request =
        make_compile_request(*proposal.stage->spec, spec_.compile, *proposal.stage->sources,
                             candidate.instance, target.architecture);
    candidate.trial = make_trial(spec_, *proposal.stage, target, candidate.instance, request);
    candidate.trial.sweep_id = candidate.trial.seen_in_sweep = summary_.sweep_id;
    if (is_known(lane, candidate)) return;
    if (!impossible.empty()) return refuse(std::move(candidate), impossible);
    const Admission admission = admit_launch(target.model, *proposal.stage->spec, candidate.instance);
    if (!admission.admitted) {
      add_admission(candidate.trial, admission);
      return record(std::move(candidate));
    }
    const std::uint64_t ticket = ++tickets_;
    pool_.submit(ticket, std::move(request));
    lane.compiling.emplace(ticket, std::move(candidate));
  }

  void refuse(Candidate candidate, const std::string& reason) {
    candidate.trial.outcome = Outcome::refused;
    candidate.trial.reason = reason;
    record(std::move(candidate));
  }

  /// Reuses a row that is there. One that was being measured when another sweep ended abruptly may have been
  /// the end of the whole machine, or another sweep may be at it right now: it is put off to the end.
  bool is_known(Lane& lane, const Candidate& candidate) {
    if (options_.remeasure) return false;
    const auto row = database_.find(candidate.trial.key);
    if (!row) return false;
    if (row->outcome == Outcome::dispatched && row->sweep_id != summary_.sweep_id && !candidate.deferred) {
      lane.defer(candidate.stage, candidate.index);
      return true;
    }
    return reuse(lane, candidate, *row);
  }

  bool reuse(Lane& lane, const Candidate& candidate, const Trial& row) {
    if (!is_worth_keeping(row.outcome)) return false;
    database_.mark_seen(row.key, summary_.sweep_id);
    if (lane.groups_with_baseline_seen.insert(candidate.stage->group).second) {
      database_.mark_baseline_seen(row, summary_.sweep_id);
    }
    ++summary_.reused;
    count(candidate, row);
    return true;
  }

  void admit_compiled() {
    for (auto& [ticket, compiled] : pool_.take_finished()) {
      for (Lane& lane : lanes_) {
        auto node = lane.compiling.extract(ticket);
        if (!node.empty() && !stopping_) admit(lane, std::move(node.mapped()), compiled);
        for (auto& [group, reference] : lane.references) {
          if (reference.ticket == ticket) take_reference(lane, group, reference, compiled);
        }
      }
    }
  }

  void admit(Lane& lane, Candidate candidate, const Compiled& compiled) {
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
    const Admission admission = admit_binary(lane.target().model, *candidate.stage->spec, candidate.instance,
                                             candidate.resources, spec_.limits);
    add_admission(candidate.trial, admission);
    if (!admission.admitted) return record(std::move(candidate));
    candidate.occupancy = *admission.occupancy;
    lane.ready.push_back(std::move(candidate));
  }

  void evaluate(Lane& lane, Post& post) {
    while (!post.retired) {
      while (auto evaluation = post.evaluator->poll()) take(lane, post, std::move(*evaluation));
      if (stopping_ || post.retired || !post.evaluator->idle()) return;
      const auto next = lane.next_ready(post);
      if (next == lane.ready.end()) return;
      const Stage& stage = *next->stage;
      const auto impossible = lane.why_unmeasurable(stage.group);
      if (!impossible && post.failed_groups.contains(stage.group)) return;
      if (!impossible && post.group != stage.group) {
        if (!begin_group(lane, post, stage)) return;
        continue;
      }
      Candidate candidate = std::move(*next);
      lane.ready.erase(next);
      if (impossible) {
        refuse(std::move(candidate), *impossible);
      } else {
        submit(lane, post, std::move(candidate));
      }
    }
  }

  /// False while the group's reference kernel is being compiled.
  bool begin_group(Lane& lane, Post& post, const Stage& stage) {
    const Binary* reference = nullptr;
    if (stage.spec->reference && post.evaluator->measures()) {
      const auto [entry, is_new] = lane.references.try_emplace(stage.group);
      if (is_new) {
        entry->second.ticket = ++tickets_;
        pool_.submit(tickets_, reference_request(spec_, stage, lane.target().architecture));
      }
      reference = entry->second.binary.get();
      if (reference == nullptr) return false;
    }
    post.group = stage.group;
    post.busy_since = Clock::now();
    post.evaluator->begin_group(stage, reference);
    return true;
  }

  void take_reference(Lane& lane, std::size_t group, GroupReference& reference, const Compiled& compiled) {
    reference.binary = compiled.binary;
    if (compiled.outcome == Outcome::ok) return;
    lane.failed_groups[group] = "the reference kernel does not compile: " + compiled.reason;
    observer_.on_note(lane.failed_groups[group]);
  }

  void submit(Lane& lane, Post& post, Candidate candidate) {
    post.busy_since = Clock::now();
    candidate.trial.gpu_uuid = post.evaluator->target().uuid;
    if (post.evaluator->measures()) {
      // Another sweep on the same database may have come to it while this one compiled it.
      if (is_known(lane, candidate)) return;
      candidate.trial.outcome = Outcome::dispatched;
      database_.record(candidate.trial);
    }
    post.evaluator->submit(std::move(candidate));
  }

  void take(Lane& lane, Post& post, Evaluation evaluation) {
    summary_.evaluate_s += seconds_since(post.busy_since);
    post.busy_since = Clock::now();
    if (!evaluation.note.empty()) observer_.on_note(evaluation.note);
    if (!evaluation.unusable.empty()) give_up_group(post, evaluation.unusable);
    if (!evaluation.retired.empty()) retire(lane, post, evaluation.retired);
    for (Trial& baseline : evaluation.baselines) {
      baseline.sweep_id = baseline.seen_in_sweep = summary_.sweep_id;
      database_.record(baseline);
    }
    if (evaluation.finished) settle(lane, post, std::move(*evaluation.finished));
    if (evaluation.returned) try_again(lane, std::move(*evaluation.returned));
  }

  /// A worker that was lost once may have been killed by somebody, or its GPU may be broken: another GPU, if
  /// there is one, decides.
  static bool deserves_another_try(const Lane& lane, const Post& post, const Candidate& candidate) {
    const Outcome outcome = candidate.trial.outcome;
    const bool lost = candidate.losses == 1 && (outcome == Outcome::crashed || outcome == Outcome::timeout);
    return lost && (candidate.blameless || post.retired || lane.others_can(post, candidate.stage->group));
  }

  void settle(Lane& lane, Post& post, Candidate candidate) {
    if (deserves_another_try(lane, post, candidate)) {
      candidate.lost_on = post.evaluator;
      return try_again(lane, std::move(candidate));
    }
    const bool disproves = candidate.trial.outcome == Outcome::ok && candidate.lost_on != nullptr &&
                           candidate.lost_on != post.evaluator && !candidate.blameless;
    const Evaluator* const doubtful = candidate.lost_on;
    record(std::move(candidate));
    if (disproves) doubt(lane, doubtful);
  }

  /// A GPU that loses its worker with configurations that run on others of its model is broken itself.
  void doubt(Lane& lane, const Evaluator* evaluator) {
    for (Post& post : lane.posts) {
      if (post.evaluator != evaluator || post.retired || ++post.disproved < kMostDisproved) continue;
      auto candidate = post.evaluator->abandon();
      retire(
          lane, post,
          fmt::format("{} configurations with which its worker was lost ran on another GPU", post.disproved));
      if (!candidate) continue;
      if (candidate->trial.outcome == Outcome::dispatched) {
        try_again(lane, std::move(*candidate));
      } else {
        settle(lane, post, std::move(*candidate));
      }
    }
  }

  /// Other GPUs of the lane may have the memory that this one lacks.
  void give_up_group(Post& post, const std::string& reason) {
    post.failed_groups[*post.group] = reason;
    observer_.on_note(fmt::format("a problem cannot be measured on {}: {}", gpu_text(post), reason));
  }

  void retire(Lane& lane, Post& post, const std::string& reason) {
    post.retired = true;
    lane.last_retired = fmt::format("{} was given up: {}", gpu_text(post), reason);
    summary_.retired.push_back(lane.last_retired);
    observer_.on_note(lane.last_retired);
  }

  /// Where no GPU is left to try it on, what happened to it stands. One that never ran stays dispatched, and
  /// ready, so that the sweep does not pass for complete.
  void try_again(Lane& lane, Candidate candidate) {
    if (!lane.alive() && candidate.trial.outcome != Outcome::dispatched) return record(std::move(candidate));
    candidate.trial.outcome = Outcome::dispatched;
    candidate.trial.reason.clear();
    lane.ready.push_front(std::move(candidate));
  }

  void record(Candidate candidate) {
    candidate.trial.recorded_at = utc_now();
    database_.record(candidate.trial);
    count(candidate, candidate.trial);
  }

  void count(const Candidate& candidate, const Trial& row) {
    ++summary_.finished;
    ++summary_.outcomes[row.outcome];
    if (!row.warnings.empty()) ++summary_.warned;
    const bool ran = row.outcome == Outcome::ok;
    candidate.stage->strategy->observe(candidate.index, ran ? row.median_us : std::nullopt);
    scoreboard_.add(*candidate.stage, row);
  }

  void report() {
    ProgressState state = scoreboard_.state(lanes_.front().stages().front());
    state.done = summary_.finished;
    for (Lane& lane : lanes_) {
      for (const Stage& stage : lane.stages()) state.total += stage.planned;
    }
    observer_.on_progress(state);
  }

  /// Sleeps until a worker has something to say, a deadline is due, or a moment has passed.
  void wait() {
    if (!stopping_ && compiling() == 0 && hungriest() != nullptr) return;
    std::vector<pollfd> descriptors;
    auto due = pool_.next_deadline();
    for (const int fd : pool_.fds()) descriptors.push_back({fd, POLLIN, 0});
    for (const Lane& lane : lanes_) {
      for (const Post& post : lane.posts) {
        if (post.retired) continue;
        if (post.evaluator->fd() >= 0) descriptors.push_back({post.evaluator->fd(), POLLIN, 0});
        due = std::min(due, post.evaluator->deadline());
      }
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    const auto timeout = std::clamp(left, std::chrono::milliseconds(0), kLongestWait);
    ::poll(descriptors.data(), descriptors.size(), static_cast<int>(timeout.count()));
  }

  const TuneSpec& spec_;
  Database& database_;
  const SweepOptions& options_;
  SweepObserver& observer_;
  CompilePool pool_;
  std::vector<Lane> lanes_;
  SweepSummary summary_;
  const Clock::time_point started_ = Clock::now();
  bool stopping_ = false;
  std::uint64_t tickets_ = 0;
  Scoreboard scoreboard_;
};

}  // namespace

SweepSummary run_sweep(const TuneSpec& spec, std::vector<Fleet>& fleets, Database& database,
                       const SweepOptions& options, SweepObserver& observer) {
  return Sweep(spec, fleets, database, options, observer).run();
}

}  // namespace tiletune
