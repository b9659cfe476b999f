#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "tune/evaluator.h"

namespace tiletune {

class Recording;

/// A configuration that was faster than all before it.
struct ReplayStep {
  std::uint64_t evaluation = 0;  ///< of the problem, counted from 1
  double simulated_s = 0;        ///< of the problem, its own included
  double best_us = 0;
  std::string template_name;
  std::string parameters;  ///< JSON object
};

/// How far a strategy came on one problem.
struct ReplayedProblem {
  std::string problem;
  std::string conditions;                  ///< operation, element types, scalars, state of the L2 cache
  std::uint64_t recorded = 0;              ///< configurations of the config's templates in the recording
  std::optional<double> best_recorded_us;  ///< best time of recorded configurations in the config's space
  std::uint64_t evaluations = 0;
  std::uint64_t not_recorded = 0;  ///< of the evaluations
  double simulated_s = 0;
  std::vector<ReplayStep> curve;  ///< each step faster than the one before
};

/// A sweep in which every answer came from a recording. Its clock counts the seconds that compiling and
/// measuring took then, as if one configuration had been tried after the other; finals are not repeated.
struct Replay {
  std::string file;
  std::string gpu;
  Source recorded_as = Source::measured;
  std::string strategy;
  std::uint64_t seed = 0;
  double budget_s = 0;                   ///< 0: none
  std::uint64_t budget_evaluations = 0;  ///< shared by the problems; 0: none
  std::vector<std::string> notes;        ///< what cannot be answered, or only so
  std::vector<ReplayedProblem> problems;
  std::vector<std::int64_t> rows;  ///< ids of the recorded rows that answered

  double simulated_s() const;
};

/// Takes from a spec what only compiling and measuring need: kernels, references, launches, arguments. What a
/// T1 tuning problem lacks of these does not matter any more.
void leave_out_kernels(TuneSpec& spec);

/// A replay before its first evaluation: one problem per workload of `tasks`, in their order, each with what
/// is recorded of it. `file` is the recording's. Throws UserError where the parameters of no task are those
/// of the recording, NothingToDo where it holds nothing of their templates, problems and conditions.
Replay plan_replay(const TuneSpec& spec, const std::vector<Task>& tasks, const Recording& recording,
                   const Target& target, const std::string& file);

/// Answers from a recording, and notes in `replay` how far the sweep comes. Both outlive it. Only where
/// `whole_rows` are wanted do its rows have more than an outcome and a time.
std::unique_ptr<Evaluator> make_replaying_evaluator(const TuneSpec& spec, const Recording& recording,
                                                    Target target, Replay& replay, bool whole_rows);

}  // namespace tiletune
