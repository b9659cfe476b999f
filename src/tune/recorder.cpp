#include "tune/recorder.h"

#include <utility>

#include "tune/provenance.h"

namespace tiletune {

namespace {

/// Whether a row answers its question. Refusals and what a deadline or a lost compiler ended cost little to
/// try again, and may have been due to a limit, or to memory that another process held.
bool is_worth_keeping(Outcome outcome) {
  return outcome != Outcome::dispatched && outcome != Outcome::refused &&
         outcome != Outcome::compile_timeout && outcome != Outcome::compile_crashed;
}

}  // namespace

void Recorder::record(Candidate candidate) {
  candidate.trial.recorded_at = utc_now();
  sweep_.database.record(candidate.trial);
  count(candidate, candidate.trial);
}

void Recorder::refuse(Candidate candidate, const std::string& reason) {
  candidate.trial.outcome = Outcome::refused;
  candidate.trial.reason = reason;
  record(std::move(candidate));
}

void Recorder::dispatch(Candidate& candidate) {
  candidate.trial.outcome = Outcome::dispatched;
  sweep_.database.record(candidate.trial);
}

void Recorder::record_baseline(Trial baseline) {
  baseline.sweep_id = baseline.seen_in_sweep = sweep_.summary.sweep_id;
  sweep_.database.record(baseline);
}

bool Recorder::is_known(Lane& lane, const Candidate& candidate) {
  if (sweep_.options.remeasure) return false;
  const auto row = sweep_.database.find(candidate.trial.key);
  if (!row) return false;
  const bool is_anothers = row->sweep_id != sweep_.summary.sweep_id;
  if (row->outcome == Outcome::dispatched && is_anothers && !candidate.deferred) {
    lane.defer(candidate.stage, candidate.index);
    return true;
  }
  return reuse(lane, candidate, *row);
}

bool Recorder::reuse(Lane& lane, const Candidate& candidate, const Trial& row) {
  if (!is_worth_keeping(row.outcome)) return false;
  sweep_.database.mark_seen(row.key, sweep_.summary.sweep_id);
  if (lane.groups_with_baseline_seen.insert(candidate.stage->group).second) {
    sweep_.database.mark_baseline_seen(row, sweep_.summary.sweep_id);
  }
  ++sweep_.summary.reused;
  count(candidate, row);
  return true;
}

void Recorder::count(const Candidate& candidate, const Trial& row) {
  SweepSummary& summary = sweep_.summary;
  ++summary.finished;
  ++summary.outcomes[row.outcome];
  if (!row.warnings.empty()) ++summary.warned;
  const bool ran = row.outcome == Outcome::ok;
  candidate.stage->strategy->observe(candidate.index, ran ? row.median_us : std::nullopt);
  scoreboard_.add(*candidate.stage, row);
}

}  // namespace tiletune
