#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "tune/ceilings.h"
#include "tune/engine.h"
#include "tune/provenance.h"

namespace tiletune {

namespace {

/// So many configurations that a GPU lost its worker with must have run on another one before it is given up.
constexpr int kMostDisproved = 3;

/// A worker that was lost once may have been killed by somebody, or its GPU may be broken: another GPU, if
/// there is one, decides.
bool deserves_another_try(const TaskQueue& queue, const GpuSlot& slot, const Candidate& candidate) {
  const Outcome outcome = candidate.trial.outcome;
  const bool lost = candidate.losses == 1 && (outcome == Outcome::crashed || outcome == Outcome::timeout);
  return lost &&
         (candidate.lost_without_fault || slot.retired || queue.others_can(slot, candidate.task->workload));
}

}  // namespace

void Dispatcher::attend(TaskQueue& queue, GpuSlot& slot) {
  bool begun = true;
  while (begun && !slot.retired) {
    while (auto evaluation = slot.evaluator->poll()) take(queue, slot, std::move(*evaluation));
    if (slot.retired || !slot.evaluator->idle()) return;
    const auto finals = finals_.due(queue, slot);
    if (finals && queue.workloads[*finals].finals.compiling > 0) return;
    if (!finals) {
      begun = measure_next(queue, slot);
    } else if (slot.workload == *finals) {
      finals_.start(queue, slot);
    } else {
      begun = slot.for_finals = prepare_workload(queue, slot, queue.task_of(*finals));
    }
  }
}

/// False when there is nothing to begin.
bool Dispatcher::measure_next(TaskQueue& queue, GpuSlot& slot) {
  if (sweep_.stopping || sweep_.is_out_of_time()) return false;
  const auto next = queue.next_ready(slot);
  if (next == queue.ready.end()) return false;
  const Task& task = *next->task;
  const std::size_t workload = task.workload;
  const auto impossible = queue.why_unmeasurable(workload);
  if (!impossible && slot.failed_workloads.contains(workload)) return false;
  if (!impossible && slot.workload != workload) {
    if (!is_known(queue, *next))
      return prepare_workload(queue, slot, task) || !queue.workloads[workload].failure.empty();
    queue.ready.erase(next);
    return true;
  }
  Candidate candidate = std::move(*next);
  queue.ready.erase(next);
  if (impossible) {
    recorder_.refuse(queue, std::move(candidate), *impossible);
  } else {
    submit(queue, slot, std::move(candidate));
  }
  return true;
}

/// False while the workload's reference, or a baseline, is being made.
bool Dispatcher::prepare_workload(TaskQueue& queue, GpuSlot& slot, const Task& task) {
  WorkloadState& state = queue.workloads[task.workload];
  if (queue.measures() && !references_.ready(queue, task.workload)) return false;
  if (!state.failure.empty()) return false;
  if (!slot.calibration && !slot.measures_ceilings && queue.measures())
    slot.calibration = known_calibration(sweep_.database, slot.evaluator->target());
  for (const std::string& note : notes_of_slow_gpus(queue.slots)) sweep_.observer.on_note(note);
  slot.workload = task.workload;
  slot.baselines.clear();
  slot.busy_since = Clock::now();
  slot.measures_ceilings = !slot.calibration || slot.measures_ceilings;
  slot.evaluator->prepare_workload(task, state.kit.kernels, state.kit.baselines,
                                   !slot.calibration.has_value());
  return true;
}

/// Another sweep on the same database may have come to it while this one compiled it, or a kernel of its
/// operation was not compiled before.
bool Dispatcher::is_known(TaskQueue& queue, Candidate& candidate) {
  if (!queue.measures()) return false;
  name_row(sweep_.spec, queue, candidate);
  return recorder_.is_known(queue, candidate);
}

void Dispatcher::submit(TaskQueue& queue, GpuSlot& slot, Candidate candidate) {
  slot.busy_since = Clock::now();
  candidate.trial.gpu_uuid = slot.evaluator->target().uuid;
  if (is_known(queue, candidate)) return;
  if (queue.measures()) recorder_.dispatch(candidate);
  if (sweep_.outputs && queue.measures() && candidate.outputs.empty())
    candidate.outputs = sweep_.outputs->prepare(*candidate.task);
  const Contender* leader = queue.standings.leader(*candidate.task);
  candidate.leader_us.reset();
  if (leader != nullptr && sweep_.spec.measure.screening > 0) candidate.leader_us = leader->upper_us;
  slot.measuring = candidate.task->workload;
  slot.evaluator->submit(std::move(candidate));
}

void Dispatcher::take(TaskQueue& queue, GpuSlot& slot, Evaluation evaluation) {
  sweep_.summary.evaluate_s += seconds_since(slot.busy_since);
  slot.busy_since = Clock::now();
  if (!evaluation.note.empty()) sweep_.observer.on_note(evaluation.note);
  if (evaluation.turn) ++queue.workloads[*slot.workload].finals.turns;
  if (evaluation.finals) finals_.finish(queue, slot, *evaluation.finals);
  if (evaluation.finals_lost) finals_.lose(queue, slot, *evaluation.finals_lost);
  if (evaluation.finished || evaluation.returned) slot.measuring.reset();
  if (!evaluation.unusable.empty()) {
    // Other GPUs of the set may have the memory that this one lacks.
    slot.failed_workloads[*slot.workload] = evaluation.unusable;
    slot.for_finals = false;
    sweep_.observer.on_note(
        fmt::format("a problem cannot be measured on {}: {}", slot.label(), evaluation.unusable));
  }
  if (!evaluation.retired.empty()) retire(queue, slot, evaluation.retired);
  if (evaluation.calibration) {
    slot.calibration = evaluation.calibration;
    const Target& target = slot.evaluator->target();
    sweep_.database.record_calibration(
        {*slot.calibration, target.name, target.uuid, target.driver_version, utc_now()});
    for (const std::string& note : notes_of_slow_gpus(queue.slots)) sweep_.observer.on_note(note);
  }
  for (Trial& baseline : evaluation.baselines) {
    add_roofline(baseline, queue.task_of(*slot.workload), slot.calibration);
    recorder_.record_rows({baseline});
    slot.baselines.push_back(std::move(baseline));
  }
  if (evaluation.finished) settle(queue, slot, std::move(*evaluation.finished));
  if (evaluation.returned) try_again(queue, std::move(*evaluation.returned));
}

void Dispatcher::settle(TaskQueue& queue, GpuSlot& slot, Candidate candidate) {
  if (deserves_another_try(queue, slot, candidate)) {
    candidate.lost_on = slot.evaluator;
    return try_again(queue, std::move(candidate));
  }
  const bool disproves = candidate.trial.outcome == Outcome::ok && candidate.lost_on != nullptr &&
                         candidate.lost_on != slot.evaluator && !candidate.lost_without_fault;
  const Evaluator* const lost_on = candidate.lost_on;
  if (queue.measures()) {
    const Trial& row = candidate.trial;
    std::optional<std::string> why;
    if (row.outcome == Outcome::ok && row.median_us) {
      const ClaimedTime claim{*row.median_us, static_cast<int>(row.launches_per_sample.value_or(1)),
                              sweep_.spec.measure.cache, row.isolated_us};
      why = batch_fault(claim, *candidate.task->spec);
      if (!why) {
        why = implausibility(claim, *candidate.task, slot.evaluator->target().model, slot.calibration);
        if (why && !sweep_.stopping && slot.drop_old_calibration())
          return queue.searches.defer(*candidate.task, candidate.index);
      }
    }
    add_roofline(candidate.trial, *candidate.task, slot.calibration);
    // What is faster than it can be leads nobody.
    if (why) {
      candidate.trial.outcome = Outcome::implausible;
      candidate.trial.reason = *why;
    }
  }
  const bool has_outputs = has_run(candidate.trial.outcome);
  const std::string key = candidate.trial.key;
  const std::vector<OutputFile> outputs = std::exchange(candidate.outputs, {});
  recorder_.record(queue, std::move(candidate));
  if (!outputs.empty()) {
    if (has_outputs)
      sweep_.outputs->keep(outputs, key);
    else
      OutputFiles::drop(outputs);
  }
  if (disproves) count_disproved(queue, lost_on);
}

/// A GPU that loses its worker with configurations that run on others of its model is broken itself.
void Dispatcher::count_disproved(TaskQueue& queue, const Evaluator* evaluator) {
  for (GpuSlot& slot : queue.slots) {
    if (slot.evaluator != evaluator || slot.retired || ++slot.disproved < kMostDisproved) continue;
    auto candidate = slot.evaluator->abandon();
    slot.measuring.reset();
    retire(queue, slot,
           fmt::format("{} configurations that ended its worker ran on another GPU", slot.disproved));
    if (!candidate) continue;
    if (candidate->trial.outcome == Outcome::dispatched) {
      try_again(queue, std::move(*candidate));
    } else {
      settle(queue, slot, std::move(*candidate));
    }
  }
}

void Dispatcher::retire(TaskQueue& queue, GpuSlot& slot, const std::string& reason) {
  slot.retired = true;
  finals_.release(queue, slot);
  queue.last_retired = fmt::format("{} was dropped: {}", slot.label(), reason);
  sweep_.summary.retired.push_back(queue.last_retired);
  sweep_.observer.on_note(queue.last_retired);
}

/// Where no GPU is left to try it on, what happened to it stands. One that never ran stays dispatched, and
/// ready, so that the sweep does not pass for complete.
void Dispatcher::try_again(TaskQueue& queue, Candidate candidate) {
  if (!queue.alive() && candidate.trial.outcome != Outcome::dispatched)
    return recorder_.record(queue, std::move(candidate));
  candidate.trial.outcome = Outcome::dispatched;
  candidate.trial.reason.clear();
  queue.ready.push_front(std::move(candidate));
}

void Dispatcher::abandon_preparations() {
  for (TaskQueue& queue : sweep_.queues) {
    for (GpuSlot& slot : queue.slots) {
      const bool may_go_on = slot.for_finals && !sweep_.summary.interrupted;
      if (slot.retired || may_go_on || slot.evaluator->idle() || slot.evaluator->running()) continue;
      auto candidate = slot.evaluator->abandon();
      slot.measuring.reset();
      slot.workload.reset();
      finals_.release(queue, slot);
      const bool is_judged = candidate && candidate->trial.outcome != Outcome::dispatched &&
                             !deserves_another_try(queue, slot, *candidate);
      if (is_judged) recorder_.record(queue, std::move(*candidate));
    }
  }
}

void Dispatcher::check_survivors() {
  if (sweep_.stopping) return;
  for (TaskQueue& queue : sweep_.queues) {
    if (!queue.alive() && !queue.exhausted()) {
      throw GpuError(fmt::format("no {} is left; {}. Run the same command again to continue.",
                                 queue.target().name, queue.last_retired));
    }
  }
}

}  // namespace tiletune
