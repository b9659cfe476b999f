#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tune/evaluator.h"
#include "tune/python_run.h"
#include "tune/search.h"

namespace tiletune {

struct GpuSlot;

/// A configuration that was given up as slower than its leader.
struct Screened {
  Task* task = nullptr;
  std::uint64_t index = 0;  ///< in the task's space
  double median_us = 0;
  std::int64_t sweep_id = 0;  ///< the one that measured it
};

/// A measured configuration that may lead its problem or take part in its finals. Its ticket in finals is its
/// place, counted from 1.
struct Contender : Screened {
  /// A fault that finals found.
  struct Fault {
    Outcome outcome = Outcome::crashed;
    std::string reason;
    const GpuSlot* slot = nullptr;  ///< where; null once it is confirmed, and the row does not rank
  };

  std::string key = {};
  double first_us = 0;  ///< its median before any finals
  double upper_us = 0;  ///< upper end of its 95% interval
  /// What it was known to take at most when others were screened against it: the finals may find it a little
  /// slower.
  double lowest_upper_us = 0;
  bool ranks = true;          ///< false: earlier finals found a fault; it only keeps its place
  std::int64_t final_of = 0;  ///< the sweep whose finals timed it; 0: none has
  std::shared_ptr<const Binary> binary = nullptr;  ///< none for a reused row
  Instance instance = {};                          ///< filled in once it takes part in finals
  bool suspect = false;                            ///< a GPU lost its worker while it ran this in finals
  std::optional<Fault> fault = {};
};

/// Who takes part in a workload's finals.
struct Selection {
  std::vector<Contender> contenders;  ///< all that rank, the leader first
  bool cut = false;                   ///< the policy would let more take part
};

/// The leaders of a queue's workloads and those close to them. It is decided by the times before any finals,
/// so that the finals of a sweep that is run again have the same finalists. Keeps a bounded number of each
/// workload's rows, and until its finals are over all those that were screened out; without finals none of
/// these.
class Standings {
 public:
  /// Whoever leads its template is not screened out `by_template`: then each has a leader of its own.
  Standings(FinalsPolicy policy, bool by_template) : policy_(std::move(policy)), by_template_(by_template) {}

  /// Takes a row that was measured, in this sweep or before.
  void add(Task& task, std::uint64_t index, const Trial& row, std::shared_ptr<const Binary> binary);
  /// The leader against which a task's configurations are screened; null: none.
  const Contender* leader(const Task& task) const;
  Selection selection(std::size_t workload) const;
  /// A row of the task was found to be faulty: whoever is the fastest without it leads. Returns those that
  /// were screened out and would not be by a factor of `screening` now; they count as not tried.
  std::vector<Screened> disqualify(const Task& task, const std::string& key, double screening);
  /// Drops a workload whose finals are over.
  void forget(std::size_t workload);

 private:
  using LeaderKey = std::pair<std::size_t, const Task*>;

  LeaderKey leader_key(const Task& task) const { return {task.workload, by_template_ ? &task : nullptr}; }
  void lead(Contender candidate);

  FinalsPolicy policy_;
  bool by_template_;
  std::map<LeaderKey, Contender> leaders_;  ///< without their binaries
  std::map<LeaderKey, std::vector<Screened>> screened_;
  std::map<std::size_t, std::vector<Contender>> contenders_;  ///< by workload, fastest first
};

/// How far the finals of one workload have come.
struct WorkloadFinals {
  enum class State {
    pending,    ///< the workload is not through, or it is not decided whether it needs any
    compiling,  ///< binaries that are missing
    ready,      ///< for a GPU
    running,
    over
  };

  State state = State::pending;
  std::vector<Contender> finalists = {};  ///< the leader first
  std::size_t compiling = 0;              ///< finalists without a binary
  bool without_kernel_baselines = false;  ///< one of them may have ended a worker
  const GpuSlot* lost_on = nullptr;       ///< where a worker was lost with them last
  const GpuSlot* slot = nullptr;          ///< where they are run
  Clock::time_point begun = {};           ///< there
  std::uint64_t turns = 0;                ///< taken there so far
  int repetitions = 0;

  /// The first of those without a fault; null when there is none.
  const Contender* leader() const;
  std::size_t sound() const;  ///< number of finalists without a fault
  /// Null when the ticket is of none.
  const Contender* finalist(std::uint64_t ticket) const {
    return ticket == 0 || ticket > finalists.size() ? nullptr : &finalists[ticket - 1];
  }
  Contender* finalist(std::uint64_t ticket) {
    return ticket == 0 || ticket > finalists.size() ? nullptr : &finalists[ticket - 1];
  }
};

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
  /// Whether this GPU can measure a workload.
  bool can_measure(std::size_t one) const { return !retired && !failed_workloads.contains(one); }
  /// Whether this GPU holds a workload's buffers, or prepares them.
  bool holds(std::size_t one) const { return workload == one && can_measure(one); }
  /// Called when a time contradicts the calibration. One of an earlier sweep may have been taken at a lower
  /// clock: it is dropped, and the next preparation, of whatever workload, measures the ceilings again.
  /// False, and nothing is changed, when this sweep has measured them.
  bool drop_old_calibration();
};

/// What must be prepared for a workload before a GPU can measure it.
struct WorkloadKit {
  std::size_t compiling = 0;          ///< kernels of its operation
  std::vector<Candidate> candidates;  ///< some must agree; or the single configuration that is the reference
  std::size_t waits_for = 0;          ///< candidates that are being compiled
  std::optional<PythonRun> python;    ///< while it runs
  bool is_made = false;               ///< the reference by Python or from candidates is made, or has failed
  WorkloadKernels kernels;            ///< what a worker gets
  bool has_baselines = false;         ///< baselines that are kernels were begun
  std::size_t compiling_baselines = 0;
  std::vector<Candidate> baselines;  ///< kernels that can run
};

/// The state of one workload of a queue, except its search.
struct WorkloadState {
  WorkloadKit kit;
  std::string failure;         ///< why it has no reference, so that no GPU can measure it; empty: it may have
  bool is_measured = false;    ///< it has rows of this sweep
  bool baseline_seen = false;  ///< the baseline of a reused row was marked as seen
  WorkloadFinals finals;
};

/// The work of a GPU set: candidates being compiled, candidates ready to measure, and its GPUs.
class TaskQueue {
 public:
  /// `make` creates the strategy of each workload. If it `learns`, it uses results and `known`, the results
  /// from before the sweep (null: none), which must outlive the queue.
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
  /// Calls Searches::propose_compiled() if GPUs would otherwise wait for compilers.
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
  /// Whether candidates are compiled, and whether they are measured. All its evaluators are of one kind.
  bool compiles() const { return slots.front().evaluator->needs_binaries(); }
  bool measures() const { return slots.front().evaluator->measures(); }
  bool idle() const;
  /// Nothing is left that is not yet being measured.
  bool exhausted() { return searches.current() == nullptr && compiling.empty() && ready.empty(); }

 private:
  bool has_turn(std::size_t workload);
  bool is_under_way(std::size_t workload);
  void drop_ready(std::size_t workload, std::size_t kept);
};

}  // namespace tiletune
