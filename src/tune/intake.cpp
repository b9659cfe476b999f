#include "tune/intake.h"

#include <utility>

#include "base/error.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// Compiled candidates of a fleet that may wait for its evaluators; bounds memory and how far compiling runs
/// ahead.
constexpr std::size_t kMostReady = 256;
/// Where nothing is compiled there is nothing to run ahead with.
std::size_t most_ready(const Lane& lane) { return lane.compiles() ? kMostReady : 1; }
/// Proposals between two looks at the workers and at Ctrl-C, when all of them are reused.
constexpr int kMostProposals = 256;

}  // namespace

void complete_key(Candidate& candidate) {
  candidate.trial.key = key_with_files(candidate.key_without_files, candidate.dependencies,
                                       candidate.stage->reference_dependencies);
}

namespace {

/// The row of what will not run: no reference has a part in it.
void complete_key_without_reference(Candidate& candidate) {
  candidate.trial.key = key_with_files(candidate.key_without_files, candidate.dependencies, {});
}

}  // namespace

void Intake::recall_references() {
  for (Lane& lane : sweep_.lanes) {
    if (!lane.posts.front().evaluator->measures()) continue;
    for (Stage& stage : lane.stages()) {
      if (!stage.reference_source) continue;
      const auto known = sweep_.pool.find(reference_request(sweep_.spec, stage, lane.target().architecture));
      if (known) stage.reference_dependencies = known->dependencies;
    }
  }
}

std::size_t Intake::compiling() const {
  std::size_t count = 0;
  for (const Lane& lane : sweep_.lanes) count += lane.compiling.size();
  return count;
}

/// The lane that is nearest to having nothing to measure.
Lane* Intake::hungriest() {
  Lane* hungriest = nullptr;
  const auto supplies = [](const Lane& lane) { return lane.compiling.size() + lane.ready.size(); };
  for (Lane& lane : sweep_.lanes) {
    const bool wants = lane.alive() && lane.ready.size() < most_ready(lane) && lane.has_proposals();
    if (wants && (hungriest == nullptr || supplies(lane) < supplies(*hungriest))) hungriest = &lane;
  }
  return hungriest;
}

void Intake::propose() {
  const std::size_t most_compiling = 4 * static_cast<std::size_t>(sweep_.pool.workers());
  for (int started = 0; started < kMostProposals; ++started) {
    if (sweep_.stopping || compiling() >= most_compiling) return;
    Lane* lane = hungriest();
    if (lane == nullptr) return;
    if (const auto proposal = lane->propose()) start(*lane, *proposal);
  }
}

void Intake::start(Lane& lane, const Proposal& proposal) {
  Candidate candidate;
  candidate.stage = proposal.stage;
  candidate.index = proposal.index;
  candidate.deferred = proposal.deferred;
  candidate.trial.sweep_id = candidate.trial.seen_in_sweep = sweep_.summary.sweep_id;
  if (!lane.compiles()) return lane.ready.push_back(std::move(candidate));
  const Target& target = lane.target();
  const std::string impossible =
      instantiate(*proposal.stage, proposal.index, target.model, candidate.instance);
  CompileRequest request = make_compile_request(sweep_.spec.compile, *proposal.stage->source,
                                                candidate.instance, target.architecture);
  candidate.trial = make_trial(sweep_.spec, *proposal.stage, target, candidate.instance, request);
  candidate.trial.sweep_id = candidate.trial.seen_in_sweep = sweep_.summary.sweep_id;
  candidate.key_without_files = candidate.trial.key;
  if (!impossible.empty()) return recorder_.refuse(lane, std::move(candidate), impossible);
  const Admission admission = admit_launch(target.model, candidate.instance);
  if (!admission.admitted) {
    add_admission(candidate.trial, admission);
    return recorder_.record(lane, std::move(candidate));
  }
  if (const auto compiled = sweep_.pool.find(request)) candidate.dependencies = compiled->dependencies;
  complete_key(candidate);
  if (recorder_.is_known(lane, candidate)) return;
  const std::uint64_t ticket = ++sweep_.tickets;
  sweep_.pool.submit(ticket, std::move(request));
  lane.compiling.emplace(ticket, std::move(candidate));
}

bool Intake::admit(std::uint64_t ticket, const Compiled& compiled) {
  for (Lane& lane : sweep_.lanes) {
    auto node = lane.compiling.extract(ticket);
    if (node.empty()) continue;
    if (!sweep_.stopping) admit(lane, std::move(node.mapped()), compiled);
    return true;
  }
  return false;
}

void Intake::admit(Lane& lane, Candidate candidate, const Compiled& compiled) {
  candidate.dependencies = compiled.dependencies;
  if (compiled.outcome != Outcome::ok) {
    complete_key_without_reference(candidate);
    if (recorder_.is_known(lane, candidate)) return;
    candidate.trial.outcome = compiled.outcome;
    candidate.trial.reason = compiled.reason;
    return recorder_.record(lane, std::move(candidate));
  }
  candidate.binary = compiled.binary;
  candidate.trial.compile_ms = compiled.binary->compile_ms;
  try {
    candidate.resources = read_resources(*compiled.binary);
  } catch (const UserError& error) {
    complete_key_without_reference(candidate);
    return recorder_.refuse(lane, std::move(candidate), error.what());
  }
  add_resources(candidate.trial, candidate.resources, candidate.instance);
  const Admission admission =
      admit_binary(lane.target().model, candidate.instance, candidate.resources, sweep_.spec.limits);
  add_admission(candidate.trial, admission);
  if (!admission.admitted) {
    complete_key_without_reference(candidate);
    return recorder_.record(lane, std::move(candidate));
  }
  const std::string key_before = candidate.trial.key;
  complete_key(candidate);
  if (candidate.trial.key != key_before && recorder_.is_known(lane, candidate)) return;
  candidate.occupancy = *admission.occupancy;
  lane.ready.push_back(std::move(candidate));
}

}  // namespace tiletune
