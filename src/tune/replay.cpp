#include "tune/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "tune/recorded_task.h"

namespace tiletune {

namespace {

/// Imported rows say nothing of conditions.
std::string place_text(const RecordedTask& task, Source source) {
  const std::string text = task.like().template_name + " " + task.like().problem;
  return source == Source::imported ? text : fmt::format("{} ({})", text, conditions_of(task.like()));
}

std::string named(const std::vector<std::string>& names) {
  return fmt::format("the parameter{} {}", names.size() == 1 ? "" : "s", join(names, ", "));
}

/// What cannot be joined and what to do about it; empty where nothing is amiss.
struct Fault {
  std::string what;
  std::string remedy;
};

Fault fault_of(const RecordedTask& task, const TemplateSpec& kernel, Source source) {
  if (task.place() == nullptr) return {"holds nothing of " + place_text(task, source), ""};
  const std::size_t listed = task.place()->names.size() - task.unknown().size();
  if (!task.unlisted().empty()) {
    const std::string missing = join(task.unlisted(), ", ");
    return {
        fmt::format("lists {} of the {} parameters of {}; without {}, which may have several values here, "
                    "its rows cannot be joined with configurations",
                    listed, kernel.parameters.size(), kernel.name, missing),
        fmt::format("In {}, leave {} only the value that was recorded.", kernel.where.file, missing)};
  }
  if (!task.unknown().empty()) {
    return {fmt::format("lists {}, which {} does not have here, so that its rows cannot be joined with "
                        "configurations",
                        named(task.unknown()), kernel.name),
            "Add what is missing to the template's parameters."};
  }
  return {};
}

void add_note(Replay& replay, const std::string& note) {
  if (std::find(replay.notes.begin(), replay.notes.end(), note) == replay.notes.end())
    replay.notes.push_back(note);
}

void note_assumptions(Replay& replay, const RecordedTask& task) {
  const NamedValues granted = task.taken_for_granted();
  if (!task.is_joined() || granted.empty()) return;
  add_note(replay, fmt::format("the rows of {} do not list {}; they are taken to be of these values",
                               task.like().template_name, to_text(granted)));
}

[[noreturn]] void throw_not_joined(const std::vector<Fault>& faults, const TuneSpec& spec,
                                   const Recording& recording, const std::string& file) {
  const auto other =
      std::find_if(faults.begin(), faults.end(), [](const Fault& fault) { return !fault.remedy.empty(); });
  if (other != faults.end()) throw UserError(other->what, Where{file, ""}, other->remedy);
  throw NothingToDo(
      fmt::format("{}, nor of anything else that {} asks for", faults.front().what, spec.file.string()),
      Where{file, ""}, fmt::format("It holds {}.", recording.places_text()));
}

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
    note_assumptions(replay, recorded);
  }
  if (faults.size() == tasks.size()) throw_not_joined(faults, spec, recording, file);
  for (const Fault& fault : faults) add_note(replay, fmt::format("{} {}", file, fault.what));
  if (const std::size_t silent = recording.timed_without_costs(); spec.budget.seconds > 0 && silent > 0)
    add_note(
        replay,
        fmt::format("{} of {} rows with a time do not say how long compiling and measuring took: no seconds "
                    "are counted for them",
                    silent, recording.timed()));
  return replay;
}

}  // namespace tiletune
