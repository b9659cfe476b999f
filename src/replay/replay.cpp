#include "replay/replay.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/hash.h"
#include "base/text.h"
#include "replay/recording.h"

namespace tiletune {

namespace {

/// What cannot be joined and what to do about it; empty where nothing is amiss.
struct Fault {
  std::string what;
  std::string remedy;
};

Fault fault_of(const RecordedTask& task, const TemplateSpec& kernel, Source source) {
  if (task.place() == nullptr) {
    const std::string text =
        fmt::format("holds nothing of {} {}", task.like().template_name, task.like().problem);
    // Imported rows say nothing of conditions.
    if (source == Source::imported) return {text, ""};
    return {fmt::format("{} ({})", text, conditions_of(task.like())), ""};
  }
  const std::size_t listed = task.place()->names.size() - task.unknown().size();
  if (!task.unlisted().empty()) {
    const std::string missing = join(task.unlisted(), ", ");
    return {fmt::format("lists {} of the {} parameters of {}; without {}, which may have several values "
                        "here, its rows cannot be joined with configurations",
                        listed, kernel.parameters.size(), kernel.name, missing),
            fmt::format("In {}, leave {} only the value that was recorded.", kernel.where.file, missing)};
  }
  if (!task.unknown().empty())
    return {fmt::format("lists the parameter{} {}, which {} does not have here, so that its rows cannot be "
                        "joined with configurations",
                        task.unknown().size() == 1 ? "" : "s", join(task.unknown(), ", "), kernel.name),
            "Add what is missing to the template's parameters."};
  return {};
}

void add_note(Replay& replay, const std::string& note) {
  if (std::find(replay.notes.begin(), replay.notes.end(), note) == replay.notes.end())
    replay.notes.push_back(note);
}

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

  bool needs_binaries() const override { return false; }
  std::optional<double> simulated_s() const override { return replay_.simulated_s(); }

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
      // What a row does not say, or no clock could have said, is not known to have cost anything, but a
      // compiler that was stopped at its deadline took that long.
      constexpr double kMillisecondsPerSecond = 1e3;
      problem.simulated_s +=
          (entry->stopped ? spec_.compile.timeout_s : 0) + entry->spent_ms / kMillisecondsPerSecond;
      replay_.rows.push_back(entry->id);
      const bool improves =
          entry->result_us > 0 && (problem.curve.empty() || entry->result_us < problem.curve.back().best_us);
      Trial& row = candidate.trial;
      if (whole_rows_ || improves) {
        replace(row, recording_.row(entry->id));
        mark_replayed(row);
      } else {  // what counting and the live line need
        row.gpu = task_of(task).like().gpu;
        row.problem = task_of(task).like().problem;
        row.outcome = entry->outcome;
        if (entry->result_us > 0) row.median_us = entry->result_us;
      }
      if (improves)
        problem.curve.push_back(
            {problem.evaluations, problem.simulated_s, entry->result_us, row.template_name, row.parameters});
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

  /// By a row of the same sweep.
  static void replace(Trial& row, Trial other) {
    other.sweep_id = other.seen_in_sweep = row.sweep_id;
    row = std::move(other);
  }

  void miss(Candidate& candidate) {
    Trial& row = candidate.trial;
    if (whole_rows_) {
      const Task& task = *candidate.task;
      replace(row, task_of(task).like());
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

double Replay::simulated_s() const {
  double seconds = 0;
  for (const ReplayedProblem& problem : problems) seconds += problem.simulated_s;
  return seconds;
}

void leave_out_kernels(TuneSpec& spec) {
  spec.compile.options.clear();
  for (TemplateSpec& kernel : spec.templates) {
    kernel.launches.clear();
    kernel.constants.clear();
    kernel.workspace.clear();
    kernel.macros.clear();
    kernel.compile_options.clear();
    kernel.min_compute_capability = {};
    kernel.max_compute_capability = {};
    kernel.operation.input_kernels.clear();
    kernel.operation.reference.reset();
    kernel.source.clear();
  }
}

Replay plan_replay(const TuneSpec& spec, const std::vector<Task>& tasks, const Recording& recording,
                   const Target& target, const std::string& file) {
  Replay replay;
  replay.file = file;
  replay.gpu = recording.set().gpu;
  replay.recorded_as = recording.set().source;
  replay.strategy = spec.strategy.name;
  replay.seed = spec.strategy.seed;
  replay.budget_s = spec.budget.seconds;
  replay.budget_evaluations = spec.budget.evaluations;
  std::vector<Fault> faults;
  for (const Task& task : tasks) {
    const RecordedTask recorded(spec, task, recording, target);
    if (replay.problems.size() <= task.workload) replay.problems.resize(task.workload + 1);
    ReplayedProblem& problem = replay.problems[task.workload];
    problem.problem = recorded.like().problem;
    problem.conditions = conditions_of(recorded.like());
    if (const auto* place = recorded.place()) {
      problem.recorded += place->configurations;
      problem.conditions = place->conditions;
    }
    if (const auto fastest = recorded.fastest_us())
      problem.best_recorded_us = std::min(*fastest, problem.best_recorded_us.value_or(*fastest));
    const Fault fault = fault_of(recorded, *task.spec, replay.recorded_as);
    if (!fault.what.empty()) faults.push_back(fault);
    if (recorded.is_joined() && !recorded.taken_for_granted().empty())
      add_note(replay, fmt::format("the rows of {} do not list {}; they are taken to be of these values",
                                   recorded.like().template_name, to_text(recorded.taken_for_granted())));
  }
  if (faults.size() == tasks.size()) {
    for (const Fault& fault : faults)
      if (!fault.remedy.empty()) throw UserError(fault.what, Where{file, ""}, fault.remedy);
    throw NothingToDo(
        fmt::format("{}, nor of anything else that {} asks for", faults.front().what, spec.file.string()),
        Where{file, ""}, fmt::format("It holds {}.", recording.places_text()));
  }
  for (const Fault& fault : faults) add_note(replay, fmt::format("{} {}", file, fault.what));
  if (const std::size_t silent = recording.timed(true); spec.budget.seconds > 0 && silent > 0)
    add_note(replay, fmt::format("{} of {} rows with a time do not say how long compiling and measuring "
                                 "took: no seconds are counted for them",
                                 silent, recording.timed()));
  return replay;
}

std::unique_ptr<Evaluator> make_replaying_evaluator(const TuneSpec& spec, const Recording& recording,
                                                    Target target, Replay& replay, bool whole_rows) {
  return std::make_unique<ReplayingEvaluator>(spec, recording, std::move(target), replay, whole_rows);
}

}  // namespace tiletune
