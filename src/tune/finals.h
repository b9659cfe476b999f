#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tune/recorder.h"

namespace tiletune {

/// The finals of every workload: when they are due, who takes part, and what becomes of it. When nothing of a
/// workload is left to try, its best are re-measured, interleaved, on one GPU; others go on meanwhile.
class Finals {
 public:
  /// What is asked of an idle GPU.
  struct Call {
    enum class What {
      nothing,
      wait,  ///< for the binaries of finals that it will run
      run    ///< run a workload's finals
    };
    What what = What::nothing;
    std::size_t workload = 0;
  };

  Finals(SweepContext& sweep, Recorder& recorder);

  Call call(TaskQueue& queue, const GpuSlot& slot);
  /// Begins what call() asked for, on a GPU that holds the workload.
  void start(TaskQueue& queue, GpuSlot& slot, std::size_t workload);
  /// What comes of it.
  void take_turn(TaskQueue& queue, const GpuSlot& slot);
  void finish(TaskQueue& queue, GpuSlot& slot, const FinalsMeasured& measured);
  void lose(TaskQueue& queue, GpuSlot& slot, const WorkerLost& loss);
  /// The GPU is dropped, or had to stop: what it found against finalists does not count.
  void release(TaskQueue& queue, GpuSlot& slot);

  /// Whether none is left to run, and none may still become due. After Ctrl-C, or with no GPU left, those
  /// that are due are left out.
  bool over(TaskQueue& queue);
  /// How far finals that are being run have come, if there are any.
  std::optional<ProgressState> progress() const;

 private:
  void open_due(TaskQueue& queue);
  void open(TaskQueue& queue, std::size_t workload);
  bool is_done_before(const TaskQueue& queue, const Selection& selection, std::size_t workload) const;
  bool held_as_wanted(const TaskQueue& queue, const std::string& policy) const;
  std::string policy_text(const TaskQueue& queue) const;
  void gather(TaskQueue& queue, WorkloadFinals& finals, std::vector<StandingsEntry> entries);
  void take_compiled(TaskQueue& queue, WorkloadFinals& finals, std::size_t place, const Compiled& compiled);
  bool find_implausible(const TaskQueue& queue, GpuSlot& slot, WorkloadFinals& finals,
                        const FinalsMeasured& measured) const;
  bool confirm_faults(TaskQueue& queue, WorkloadFinals& finals);
  void repeat(TaskQueue& queue, WorkloadFinals& finals, const std::string& why);
  void record(TaskQueue& queue, const GpuSlot& slot, WorkloadFinals& finals, const FinalsMeasured& measured);
  void leave_out(TaskQueue& queue, WorkloadFinals& finals, const std::string& why);
  void close(TaskQueue& queue, WorkloadFinals& finals);

  SweepContext& sweep_;
  Recorder& recorder_;
};

}  // namespace tiletune
