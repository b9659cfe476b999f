#include "tune/intake.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "inspect/kernel_hash.h"
#include "tune/identity.h"
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

/// Null, as the database has it, where the source includes nothing of its own.
std::string files_text(const Dependencies& files) {
  return files.empty() ? "" : nlohmann::json(files).dump();
}

/// Whether the files are as they were when a row was made. What is no list of files is none that holds.
bool files_hold(DependencyCheck& check, const KernelSource& source, const std::string& included_files) {
  if (included_files.empty()) return true;
  const auto json = nlohmann::json::parse(included_files, nullptr, false);
  if (!json.is_object()) return false;
  Dependencies files;
  for (const auto& [name, hash] : json.items()) {
    if (!hash.is_string()) return false;
    files.emplace(name, hash.get<std::string>());
  }
  return check.holds(source, files);
}

}  // namespace

void name_row(const TuneSpec& spec, const Lane& lane, Candidate& candidate) {
  const Stage& stage = *candidate.stage;
  const bool measures = lane.posts.front().evaluator->measures();
  const IdentityFields measurement = measurement_identity(
      spec, stage, lane.target(), candidate.instance, candidate.trial, measures ? stage.reference_hash : "");
  candidate.trial.measurement = measurement.hex();
  candidate.trial.key = row_identity(candidate.trial, measurement).hex();
}

void Intake::prepare_references() {
  for (Lane& lane : sweep_.lanes) {
    if (!lane.posts.front().evaluator->measures()) continue;
    for (const Stage& stage : lane.stages()) {
      if (!stage.reference_source) continue;
      const auto [entry, is_new] = lane.references.try_emplace(stage.group);
      if (!is_new) continue;
      entry->second.ticket = ++sweep_.tickets;
      sweep_.pool.submit(sweep_.tickets, reference_request(sweep_.spec, stage, lane.target().architecture));
    }
  }
}

/// A kernel that is measured has no complete key before its reference kernel is compiled.
bool Intake::is_known(Lane& lane, const Candidate& candidate) {
  const Stage& stage = *candidate.stage;
  const bool waits = lane.posts.front().evaluator->measures() && stage.reference_source &&
                     stage.reference_hash.empty() && !candidate.trial.kernel_hash.empty();
  return !waits && recorder_.is_known(lane, candidate);
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
    const bool wants =
        lane.alive() && lane.ready.size() < most_ready(lane) && lane.has_proposals() && !lane.is_waiting();
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
    const std::size_t room = lane->compiles() ? most_compiling - compiling() : 1;
    if (const auto proposal = lane->propose(room)) start(*lane, *proposal);
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
  name_row(sweep_.spec, lane, candidate);
  if (!impossible.empty()) return recorder_.refuse(lane, std::move(candidate), impossible);
  const Admission admission = admit_launch(target.model, candidate.instance);
  if (!admission.admitted) {
    add_admission(candidate.trial, admission);
    return recorder_.record(lane, std::move(candidate));
  }
  if (recognise(request, candidate.trial)) {
    name_row(sweep_.spec, lane, candidate);
    if (recorder_.is_known(lane, candidate)) return;
  }
  const std::uint64_t ticket = ++sweep_.tickets;
  sweep_.pool.submit(ticket, std::move(request));
  lane.compiling.emplace(ticket, std::move(candidate));
}

/// Fills in what a source was compiled into, if that is known; false when it has to be compiled to be told.
bool Intake::recognise(const CompileRequest& request, Trial& row) {
  for (const Trial& known : sweep_.database.find_source(row.source_key)) {
    if (!files_hold(files_, request.source, known.included_files)) continue;
    row.kernel_hash = known.kernel_hash;
    row.included_files = known.included_files;
    return true;
  }
  const auto compiled = sweep_.pool.find(request);
  if (!compiled) return false;
  row.included_files = files_text(compiled->dependencies);
  if (compiled->binary)
    row.kernel_hash = kernel_hash(compiled->binary->cubin, compiled->binary->kernel_symbol);
  return true;
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
  Trial& row = candidate.trial;
  row.included_files = files_text(compiled.dependencies);
  row.kernel_hash.clear();
  name_row(sweep_.spec, lane, candidate);  // as which it stays if it will not run
  if (compiled.outcome != Outcome::ok) {
    if (recorder_.is_known(lane, candidate)) return;
    row.outcome = compiled.outcome;
    row.reason = compiled.reason;
    return recorder_.record(lane, std::move(candidate));
  }
  candidate.binary = compiled.binary;
  row.compile_ms = compiled.binary->compile_ms;
  try {
    candidate.resources = read_resources(*compiled.binary);
    row.kernel_hash = kernel_hash(compiled.binary->cubin, compiled.binary->kernel_symbol);
  } catch (const UserError& error) {
    return recorder_.refuse(lane, std::move(candidate), error.what());
  }
  add_resources(row, candidate.resources, candidate.instance);
  const Admission admission =
      admit_binary(lane.target().model, candidate.instance, candidate.resources, sweep_.spec.limits);
  add_admission(row, admission);
  if (!admission.admitted) return recorder_.record(lane, std::move(candidate));
  name_row(sweep_.spec, lane, candidate);
  if (is_known(lane, candidate)) return;
  candidate.occupancy = *admission.occupancy;
  lane.ready.push_back(std::move(candidate));
}

}  // namespace tiletune
