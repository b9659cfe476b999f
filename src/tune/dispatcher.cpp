#include "tune/dispatcher.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "inspect/kernel_hash.h"
#include "tune/calibrations.h"
#include "tune/intake.h"
#include "tune/plausibility.h"
#include "tune/roofline.h"

namespace tiletune {

namespace {

/// So many configurations that a GPU lost its worker with must have run on another one before it is given up.
constexpr int kMostDisproved = 3;

/// "NVIDIA H200 (GPU-...)"
std::string gpu_text(const Post& post) {
  const Target& target = post.evaluator->target();
  return fmt::format("{} ({})", target.name, target.uuid);
}

/// A worker that was lost once may have been killed by somebody, or its GPU may be broken: another GPU, if
/// there is one, decides.
bool deserves_another_try(const Lane& lane, const Post& post, const Candidate& candidate) {
  const Outcome outcome = candidate.trial.outcome;
  const bool lost = candidate.losses == 1 && (outcome == Outcome::crashed || outcome == Outcome::timeout);
  return lost && (candidate.blameless || post.retired || lane.others_can(post, candidate.stage->group));
}

}  // namespace

void Dispatcher::attend(Lane& lane, Post& post) {
  bool begun = true;
  while (begun && !post.retired) {
    while (auto evaluation = post.evaluator->poll()) take(lane, post, std::move(*evaluation));
    if (post.retired || !post.evaluator->idle()) return;
    const Finals::Call call = finals_.call(lane, post);
    if (call.what == Finals::Call::What::wait) return;
    const bool is_race = call.what == Finals::Call::What::race;
    begun = is_race ? run_finals(lane, post, call.group) : measure_next(lane, post);
  }
}

/// False when there is nothing to begin.
bool Dispatcher::measure_next(Lane& lane, Post& post) {
  if (sweep_.stopping || sweep_.is_out_of_time()) return false;
  const auto next = lane.next_ready(post);
  if (next == lane.ready.end()) return false;
  const Stage& stage = *next->stage;
  const auto impossible = lane.why_unmeasurable(stage.group);
  if (!impossible && post.failed_groups.contains(stage.group)) return false;
  if (!impossible && post.group != stage.group) {
    if (!is_known(lane, post, *next)) return begin_group(lane, post, stage);
    lane.ready.erase(next);
    return true;
  }
  Candidate candidate = std::move(*next);
  lane.ready.erase(next);
  if (impossible) {
    recorder_.refuse(lane, std::move(candidate), *impossible);
  } else {
    submit(lane, post, std::move(candidate));
  }
  return true;
}

bool Dispatcher::run_finals(Lane& lane, Post& post, std::size_t group) {
  if (post.group != group) {
    post.for_finals = begin_group(lane, post, lane.stage_of(group));
    return post.for_finals;
  }
  finals_.start(lane, post, group);
  return true;
}

/// False while the group's reference kernel is being compiled.
bool Dispatcher::begin_group(Lane& lane, Post& post, const Stage& stage) {
  const Binary* reference = nullptr;
  if (stage.spec->operation.reference && post.evaluator->measures()) {
    reference = lane.references.at(stage.group).binary.get();
    if (reference == nullptr) return false;
  }
  const Target& target = post.evaluator->target();
  if (!post.calibration && !post.measures_ceilings && post.evaluator->measures())
    post.calibration = known_calibration(sweep_.database, target);
  post.group = stage.group;
  post.baselines.clear();
  post.busy_since = Clock::now();
  post.measures_ceilings = !post.calibration || post.measures_ceilings;
  post.evaluator->begin_group(stage, reference, !post.calibration.has_value());
  return true;
}

bool Dispatcher::take_reference(std::uint64_t ticket, const Compiled& compiled) {
  for (Lane& lane : sweep_.lanes) {
    for (auto& [group, reference] : lane.references) {
      if (reference.ticket != ticket) continue;
      reference.binary = compiled.binary;
      for (Stage& stage : lane.stages())
        if (stage.group == group && compiled.binary)
          stage.reference_hash = kernel_hash(compiled.binary->cubin, compiled.binary->kernel_symbol);
      if (compiled.outcome == Outcome::ok) return true;
      lane.failed_groups[group] = "the reference kernel does not compile: " + compiled.reason;
      sweep_.observer.on_note(lane.failed_groups[group]);
      return true;
    }
  }
  return false;
}

/// Another sweep on the same database may have come to it while this one compiled it, or its reference kernel
/// was not compiled before.
bool Dispatcher::is_known(Lane& lane, const Post& post, Candidate& candidate) {
  if (!post.evaluator->measures()) return false;
  name_row(sweep_.spec, lane, candidate);
  return recorder_.is_known(lane, candidate);
}

void Dispatcher::submit(Lane& lane, Post& post, Candidate candidate) {
  post.busy_since = Clock::now();
  candidate.trial.gpu_uuid = post.evaluator->target().uuid;
  if (is_known(lane, post, candidate)) return;
  if (post.evaluator->measures()) recorder_.dispatch(candidate);
  const Leader* leader = lane.standings.leader(*candidate.stage);
  candidate.leader_us.reset();
  if (leader != nullptr && sweep_.spec.measure.screening > 0) candidate.leader_us = leader->upper_us;
  post.measuring = candidate.stage->group;
  post.evaluator->submit(std::move(candidate));
}

void Dispatcher::take(Lane& lane, Post& post, Evaluation evaluation) {
  sweep_.summary.evaluate_s += seconds_since(post.busy_since);
  post.busy_since = Clock::now();
  if (!evaluation.note.empty()) sweep_.observer.on_note(evaluation.note);
  if (evaluation.turn) finals_.take_turn(lane, post);
  if (evaluation.finals) finals_.finish(lane, post, *evaluation.finals);
  if (evaluation.finals_lost) finals_.lose(lane, post, *evaluation.finals_lost);
  if (evaluation.finished || evaluation.returned) post.measuring.reset();
  if (!evaluation.unusable.empty()) give_up_group(post, evaluation.unusable);
  if (!evaluation.retired.empty()) retire(lane, post, evaluation.retired);
  take_baselines(lane, post, evaluation);
  if (evaluation.finished) settle(lane, post, std::move(*evaluation.finished));
  if (evaluation.returned) try_again(lane, std::move(*evaluation.returned));
}

void Dispatcher::take_baselines(Lane& lane, Post& post, Evaluation& evaluation) {
  if (evaluation.calibration) {
    post.calibration = evaluation.calibration;
    keep_calibration(sweep_.database, post.evaluator->target(), *post.calibration);
  }
  for (Trial& baseline : evaluation.baselines) {
    add_roofline(baseline, lane.stage_of(*post.group), post.calibration);
    recorder_.record_baseline(baseline);
    post.baselines.push_back(std::move(baseline));
  }
}

void Dispatcher::settle(Lane& lane, Post& post, Candidate candidate) {
  if (deserves_another_try(lane, post, candidate)) {
    candidate.lost_on = post.evaluator;
    return try_again(lane, std::move(candidate));
  }
  const bool disproves = candidate.trial.outcome == Outcome::ok && candidate.lost_on != nullptr &&
                         candidate.lost_on != post.evaluator && !candidate.blameless;
  const Evaluator* const doubtful = candidate.lost_on;
  if (post.evaluator->measures()) {
    const auto why = implausibility_of(post, candidate);
    if (why && !sweep_.stopping && post.drop_old_calibration())
      return lane.defer(candidate.stage, candidate.index);
    add_roofline(candidate.trial, *candidate.stage, post.calibration);
    // What is faster than it can be leads nobody.
    if (why) {
      candidate.trial.outcome = Outcome::implausible;
      candidate.trial.reason = *why;
    }
  }
  recorder_.record(lane, std::move(candidate));
  if (disproves) doubt(lane, doubtful);
}

std::optional<std::string> Dispatcher::implausibility_of(const Post& post, const Candidate& candidate) const {
  const Trial& row = candidate.trial;
  if (row.outcome != Outcome::ok || !row.median_us) return std::nullopt;
  const ClaimedTime claim{*row.median_us, static_cast<int>(row.launches_per_sample.value_or(1)),
                          sweep_.spec.measure.cache};
  return implausibility(claim, *candidate.stage, *candidate.binary, post.evaluator->target().model,
                        post.calibration);
}

/// A GPU that loses its worker with configurations that run on others of its model is broken itself.
void Dispatcher::doubt(Lane& lane, const Evaluator* evaluator) {
  for (Post& post : lane.posts) {
    if (post.evaluator != evaluator || post.retired || ++post.disproved < kMostDisproved) continue;
    auto candidate = post.evaluator->abandon();
    post.measuring.reset();
    retire(lane, post,
           fmt::format("{} configurations that ended its worker ran on another GPU", post.disproved));
    if (!candidate) continue;
    if (candidate->trial.outcome == Outcome::dispatched) {
      try_again(lane, std::move(*candidate));
    } else {
      settle(lane, post, std::move(*candidate));
    }
  }
}

/// Other GPUs of the lane may have the memory that this one lacks.
void Dispatcher::give_up_group(Post& post, const std::string& reason) {
  post.failed_groups[*post.group] = reason;
  post.for_finals = false;
  sweep_.observer.on_note(fmt::format("a problem cannot be measured on {}: {}", gpu_text(post), reason));
}

void Dispatcher::retire(Lane& lane, Post& post, const std::string& reason) {
  post.retired = true;
  finals_.release(lane, post);
  lane.last_retired = fmt::format("{} was dropped: {}", gpu_text(post), reason);
  sweep_.summary.retired.push_back(lane.last_retired);
  sweep_.observer.on_note(lane.last_retired);
}

/// Where no GPU is left to try it on, what happened to it stands. One that never ran stays dispatched, and
/// ready, so that the sweep does not pass for complete.
void Dispatcher::try_again(Lane& lane, Candidate candidate) {
  if (!lane.alive() && candidate.trial.outcome != Outcome::dispatched)
    return recorder_.record(lane, std::move(candidate));
  candidate.trial.outcome = Outcome::dispatched;
  candidate.trial.reason.clear();
  lane.ready.push_front(std::move(candidate));
}

void Dispatcher::abandon_preparations() {
  for (Lane& lane : sweep_.lanes) {
    for (Post& post : lane.posts) {
      const bool may_go_on = post.for_finals && !sweep_.summary.interrupted;
      if (post.retired || may_go_on || post.evaluator->idle() || post.evaluator->running()) continue;
      abandon(lane, post);
    }
  }
}

void Dispatcher::abandon(Lane& lane, Post& post) {
  auto candidate = post.evaluator->abandon();
  post.measuring.reset();
  post.group.reset();
  finals_.release(lane, post);
  const bool judged = candidate && candidate->trial.outcome != Outcome::dispatched &&
                      !deserves_another_try(lane, post, *candidate);
  if (judged) recorder_.record(lane, std::move(*candidate));
}

void Dispatcher::check_survivors() {
  if (sweep_.stopping) return;
  for (Lane& lane : sweep_.lanes) {
    if (!lane.alive() && !lane.exhausted()) {
      throw GpuError(fmt::format("no {} is left; {}. Run the same command again to continue.",
                                 lane.target().name, lane.last_retired));
    }
  }
}

}  // namespace tiletune
