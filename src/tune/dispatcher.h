#pragma once

#include <string>

#include "tune/finals.h"
#include "tune/recorder.h"
#include "tune/references.h"

namespace tiletune {

/// Gives candidates and finals to GPUs, takes their results, and decides what a lost worker means: for its
/// candidate, and for its GPU.
class Dispatcher {
 public:
  Dispatcher(SweepContext& sweep, Recorder& recorder, Finals& finals, References& references)
      : sweep_(sweep), recorder_(recorder), finals_(finals), references_(references) {}

  /// Takes what a GPU has to say, and gives it what comes next.
  void attend(TaskQueue& queue, GpuSlot& slot);
  /// Nothing new is begun, so only a candidate that runs is worth waiting for, a worker that is being started
  /// is not; nor are finals after Ctrl-C.
  void abandon_preparations();
  /// Throws GpuError when a part of the sweep has lost all its GPUs before its end.
  void check_survivors();

 private:
  bool measure_next(TaskQueue& queue, GpuSlot& slot);
  bool run_finals(TaskQueue& queue, GpuSlot& slot, std::size_t workload);
  bool prepare_workload(TaskQueue& queue, GpuSlot& slot, const Task& task);
  bool compile_baselines(TaskQueue& queue, std::size_t workload);
  void begin_baseline(TaskQueue& queue, std::size_t workload, Task& task);
  void take_baseline(TaskQueue& queue, std::size_t workload, Candidate candidate, const Compiled& compiled);
  bool is_known(TaskQueue& queue, const GpuSlot& slot, Candidate& candidate);
  void submit(TaskQueue& queue, GpuSlot& slot, Candidate candidate);
  void take(TaskQueue& queue, GpuSlot& slot, Evaluation evaluation);
  void take_baselines(TaskQueue& queue, GpuSlot& slot, Evaluation& evaluation);
  void settle(TaskQueue& queue, GpuSlot& slot, Candidate candidate);
  void count_disproved(TaskQueue& queue, const Evaluator* evaluator);
  std::optional<std::string> implausibility_of(const GpuSlot& slot, const Candidate& candidate) const;
  void give_up_workload(GpuSlot& slot, const std::string& reason);
  void abandon(TaskQueue& queue, GpuSlot& slot);
  void retire(TaskQueue& queue, GpuSlot& slot, const std::string& reason);
  void try_again(TaskQueue& queue, Candidate candidate);

  SweepContext& sweep_;
  Recorder& recorder_;
  Finals& finals_;
  References& references_;
};

}  // namespace tiletune
