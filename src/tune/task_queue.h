#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tune/evaluator.h"
#include "tune/python_run.h"
#include "tune/search.h"
#include "tune/standings.h"

namespace tiletune {

/// A GPU at work.
struct GpuSlot {
  Evaluator* evaluator = nullptr;
  std::optional<std::size_t> workload;                  ///< whose buffers it holds
  std::vector<Trial> baselines;                         ///< rows of the workload's baselines
  std::map<std::size_t, std::string> failed_workloads;  ///< which it cannot measure, and why
  std::optional<std::size_t> measuring;                 ///< the workload of the candidate that it holds
  bool for_finals = false;                              ///< it runs finals, or prepares for them
  std::optional<Calibration> calibration;               ///< once known
  Clock::time_point busy_since = Clock::now();
  bool measures_ceilings = false;  ///< the calibration is this sweep's, or is to be
  int disproved = 0;               ///< losses of its worker with candidates that ran elsewhere
  bool retired = false;
  bool is_known_as_slow = false;  ///< beside others of its model, and was said to be

  /// "NVIDIA H200 (GPU-...)"
  std::string label() const;
  /// Whether it may measure a workload.
  bool can_measure(std::size_t one) const { return !retired && !failed_workloads.contains(one); }
  /// Whether it has a workload's buffers, or makes them.
  bool holds(std::size_t one) const { return workload == one && can_measure(one); }
  /// Called when a time contradicts the calibration. One of an earlier sweep may have been taken at a lower
  /// clock: it is dropped, and the next preparation, of whatever workload, measures the ceilings again.
  /// False, and nothing is changed, when this sweep has measured them.
  bool drop_old_calibration();
};

/// What is made for a workload before a GPU can measure it.
struct WorkloadKit {
  std::size_t compiling = 0;  ///< kernels of its operation
  std::vector<Candidate>
      candidates;                   ///< of which some must agree; or the configuration that is the reference
  std::size_t waits_for = 0;        ///< candidates that are being compiled
  std::optional<PythonRun> python;  ///< while it runs
  bool is_made = false;             ///< the reference, by Python or from the candidates, or that failed
  WorkloadKernels kernels;          ///< what a worker gets
  bool has_baselines = false;       ///< that are kernels: they are begun
  std::size_t compiling_baselines = 0;
  std::vector<Candidate> baselines;  ///< that can run
};

/// How far a queue has come with one workload, beside its search.
struct WorkloadState {
  WorkloadKit kit;
  std::string failure;         ///< why none can measure it, for want of a reference; empty: one may
  bool is_measured = false;    ///< it has rows of this sweep
  bool baseline_seen = false;  ///< with a row that is reused
  WorkloadFinals finals;
};

/// What a set of GPUs works on: what is compiled, what is ready, and where it is measured.
class TaskQueue {
 public:
  /// `make` makes what searches each of the workloads; it `learns` from results, and from what is `known`
  /// before the sweep (null: nothing), which outlives the queue.
  TaskQueue(GpuSet& gpu_set, const TuneSpec& spec, MakeStrategy* make, bool learns = false,
            const Knowledge* known = nullptr);
  TaskQueue(TaskQueue&&) = default;

  const Target& target() const { return slots.front().evaluator->target(); }
  /// The workload's first task.
  Task& task_of(std::size_t workload) const { return searches[workload].tasks().front(); }

  Searches searches;
  std::vector<GpuSlot> slots;
  std::vector<std::shared_ptr<Candidate>> compiling;  ///< whose results are awaited
  std::deque<Candidate> ready;
  std::vector<WorkloadState> workloads;
  Standings standings;
  std::string last_retired;  ///< the GPU given up last, and why

  /// Ends the searches that have had their share of the budget by `now_s`, the sweep's clock, or expect no
  /// gain that is worth it. A share of the time begins when a GPU is ready to measure, so that the first
  /// kernels are compiled by then, or after many results for which none was needed. What is compiled at its
  /// end is measured while the next problem compiles; the time that this took for earlier problems is not
  /// shared out.
  void end_searches(double now_s);
  /// Searches::propose_compiled() for GPUs that would wait for compilers otherwise.
  std::vector<Proposal> propose_compiled();
  /// Ends all searches because the sweep ends, for want of time or for another reason; what waits counts as
  /// not tried.
  void stop(bool is_out_of_time);

  /// A ready candidate of the lowest workload that has anything left to begin, if one is ready: changing
  /// workloads rebuilds buffers and reference, so the next workload waits until this one is done. Proposals
  /// come workload by workload, so a lowest workload without a ready candidate is being compiled, and
  /// compiling has a deadline. A candidate that `slot` has lost its worker with is left to other slots while
  /// they can take it.
  std::deque<Candidate>::iterator next_ready(const GpuSlot& slot);
  /// Whether another GPU that is left can measure a workload.
  bool others_can(const GpuSlot& slot, std::size_t workload) const;
  /// Whether a workload has a candidate that may still be measured: proposed, compiled and ready ones only
  /// count unless the sweep is `stopping`.
  bool is_open(std::size_t workload, bool stopping);
  /// Why no GPU that is left can measure a workload; none while one may.
  std::optional<std::string> why_unmeasurable(std::size_t workload) const;

  bool alive() const;
  /// Whether its candidates are compiled, and whether they are measured; all its evaluators are of one kind.
  bool compiles() const { return slots.front().evaluator->needs_binaries(); }
  bool measures() const { return slots.front().evaluator->measures(); }
  /// Whether a candidate is being evaluated.
  bool is_measuring() const;
  bool idle() const;
  /// Nothing is left that is not yet being measured.
  bool exhausted() { return searches.current() == nullptr && compiling.empty() && ready.empty(); }

 private:
  bool has_turn(std::size_t workload);
  bool is_under_way(std::size_t workload);
  bool needs_no_gpu(std::size_t workload) const;
  void drop_ready(std::size_t workload, std::size_t kept);
};

}  // namespace tiletune
