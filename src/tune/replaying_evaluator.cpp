#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "tune/instant_evaluator.h"
#include "tune/recorded_task.h"
#include "tune/replay.h"

namespace tiletune {

namespace {

/// The row's own key, so that a second replay of it takes its place. Nothing was measured that others could
/// share.
void mark_replayed(Trial& row) {
  row.key = Hasher().add(name(Source::replayed)).add(row.key).hex();
  for (std::string Trial::*of_measured :
       {&Trial::source_key, &Trial::source_hash, &Trial::measurement, &Trial::shares})
    (row.*of_measured).clear();
  row.source = Source::replayed;
}

class ReplayingEvaluator : public InstantEvaluator {
 public:
  ReplayingEvaluator(const TuneSpec& spec, const Recording& recording, Target target, Replay& replay,
                     bool whole_rows)
      : InstantEvaluator(std::move(target)),
        spec_(spec),
        recording_(recording),
        replay_(replay),
        whole_rows_(whole_rows) {}

  bool measures() const override { return false; }
  bool needs_binaries() const override { return false; }
  std::optional<double> simulated_s() const override { return replay_.simulated_s(); }
  void run_finals(FinalsRequest /*request*/) override {
    throw std::logic_error("a recording gives the same answer every time");
  }

  void prepare_workload(const Task& task, const WorkloadKernels& /*kernels*/,
                        std::vector<Candidate> /*baselines*/, bool /*calibrate*/) override {
    Evaluation evaluation;
    for (const std::int64_t id : recording_.baselines(task_of(task).like())) {
      replay_.rows.push_back(id);
      if (whole_rows_) mark_replayed(evaluation.baselines.emplace_back(recording_.row(id)));
    }
    if (!evaluation.baselines.empty()) answer(std::move(evaluation));
  }

  void submit(Candidate candidate) override {
    const Task& task = *candidate.task;
    ReplayedProblem& problem = replay_.problems.at(task.workload);
    ++problem.evaluations;
    if (const Recording::Entry* entry = task_of(task).find(candidate.index)) {
      problem.simulated_s += cost_s(*entry);
      replay_.rows.push_back(entry->id);
      const bool improves =
          entry->told_us > 0 && (problem.curve.empty() || entry->told_us < problem.curve.back().best_us);
      if (whole_rows_ || improves) {
        answer_with(candidate.trial, recording_.row(entry->id));
      } else {
        answer_with(candidate.trial, *entry, task_of(task).like());
      }
      if (improves) note(problem, candidate.trial, entry->told_us);
    } else {
      ++problem.not_recorded;
      miss(candidate);
    }
    finish(std::move(candidate));
  }

 private:
  const RecordedTask& task_of(const Task& task) {
    return tasks_.try_emplace(&task, spec_, task, recording_, target()).first->second;
  }

  /// What a row does not say, or no clock could have said, is not known to have cost anything, but a compiler
  /// that was stopped at its deadline took that long.
  double cost_s(const Recording::Entry& entry) const {
    constexpr double kMillisecondsPerSecond = 1e3;
    return (entry.stopped ? spec_.compile.timeout_s : 0) + entry.spent_ms / kMillisecondsPerSecond;
  }

  static void note(ReplayedProblem& problem, const Trial& row, double time_us) {
    problem.curve.push_back(
        {problem.evaluations, problem.simulated_s, time_us, row.template_name, row.parameters});
  }

  static void answer_with(Trial& row, Trial recorded) {
    const std::int64_t sweep = row.sweep_id;
    row = std::move(recorded);
    mark_replayed(row);
    row.sweep_id = row.seen_in_sweep = sweep;
  }

  /// What counting and the live line need.
  static void answer_with(Trial& row, const Recording::Entry& entry, const Trial& like) {
    row.gpu = like.gpu;
    row.problem = like.problem;
    row.outcome = entry.outcome;
    if (entry.told_us > 0) row.median_us = entry.told_us;
  }

  void miss(Candidate& candidate) {
    Trial& row = candidate.trial;
    if (whole_rows_) {
      const Task& task = *candidate.task;
      const std::int64_t sweep = row.sweep_id;
      row = task_of(task).like();
      row.sweep_id = row.seen_in_sweep = sweep;
      row.parameters = to_json(task.space.at(candidate.index).named(*task.spec)).dump();
      Hasher hasher;
      for (const std::string* part :
           {&row.gpu, &row.template_name, &row.problem, &row.operation, &row.options, &row.element_types,
            &row.scalars, &row.cache, &row.parameters})
        hasher.add(*part);
      row.key = hasher.hex();
      mark_replayed(row);
      row.reason = fmt::format("{} has no row of this configuration {} on {} under these conditions",
                               replay_.file, name(replay_.recorded_as), replay_.gpu);
    }
    row.outcome = Outcome::not_recorded;
  }

  const TuneSpec& spec_;
  const Recording& recording_;
  Replay& replay_;
  bool whole_rows_;
  std::unordered_map<const Task*, RecordedTask> tasks_;
};

}  // namespace

std::unique_ptr<Evaluator> make_replaying_evaluator(const TuneSpec& spec, const Recording& recording,
                                                    Target target, Replay& replay, bool whole_rows) {
  return std::make_unique<ReplayingEvaluator>(spec, recording, std::move(target), replay, whole_rows);
}

}  // namespace tiletune
