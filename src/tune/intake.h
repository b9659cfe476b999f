#pragma once

#include "compile/source.h"
#include "tune/recorder.h"

namespace tiletune {

/// Gives a candidate's row its key and measurement, as far as its kernel is known: by the hash of the
/// compiled kernel, or else by what would be compiled. That of a kernel that is measured is complete once the
/// reference kernel of its task is compiled.
void name_row(const TuneSpec& spec, const TaskQueue& queue, Candidate& candidate);

/// Fills in what the compiler made of a candidate. The row of one that cannot run has an outcome and a
/// reason.
void add_binary(const TuneSpec& spec, const GpuModel& gpu, Candidate& candidate, const Compiled& compiled);

/// Brings candidates to the queues: proposes, finds what can be reused, compiles, admits.
class Intake {
 public:
  Intake(SweepContext& sweep, Recorder& recorder)
      : sweep_(sweep), recorder_(recorder), lists_(sweep.options.compile.cache_folder / "included") {}

  /// Proposes as long as compiling has not run too far ahead.
  void propose();
  /// Whether propose() would have something to do although nothing is being compiled.
  bool has_idle_compilers() { return !sweep_.stopping && compiling() == 0 && shortest_queue() != nullptr; }

 private:
  std::size_t compiling() const;
  TaskQueue* shortest_queue();
  void propose_compiled(TaskQueue& queue);
  bool start(TaskQueue& queue, const Proposal& proposal);
  void admit(TaskQueue& queue, Candidate candidate, const Compiled& compiled);
  bool recognise(const CompileRequest& request, Trial& row);
  bool is_known(TaskQueue& queue, const Candidate& candidate);

  SweepContext& sweep_;
  Recorder& recorder_;
  DependencyCheck files_;
  IncludedLists lists_;
};

}  // namespace tiletune
