#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/strategies.h"
#include "tune/evaluator.h"
#include "tune/knowledge.h"
#include "tune/progress.h"
#include "tune/python_run.h"
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

  /// Called when a time contradicts the calibration. One of an earlier sweep may have been taken at a lower
  /// clock: it is dropped, and the next preparation, of whatever workload, measures the ceilings again.
  /// False, and nothing is changed, when this sweep has measured them.
  bool drop_old_calibration();
};

/// One configuration to try.
struct Proposal {
  Task* task = nullptr;
  std::uint64_t index = 0;
  bool deferred = false;  ///< it was put off before
};

/// A configuration that may be one of those whose agreement is the reference.
struct ReferenceCandidate {
  const Task* task = nullptr;
  Instance instance;
  std::shared_ptr<const Binary> binary = nullptr;  ///< once it is compiled
};

/// The reference of a workload on its way, and the kernels that compute its inputs.
struct WorkloadReference {
  std::size_t compiling = 0;                   ///< kernels of its operation
  std::vector<ReferenceCandidate> candidates;  ///< or the configuration that is the reference
  std::size_t waits_for = 0;                   ///< candidates that are being compiled
  std::optional<PythonRun> python;             ///< while it runs
  bool is_made = false;                        ///< by Python or from the candidates, or that failed
  WorkloadKernels kernels;                     ///< what a worker gets
};

/// The baselines of a workload that are kernels.
struct WorkloadBaselines {
  std::size_t compiling = 0;
  std::vector<Candidate> ready;  ///< baselines that can run
};

/// The tasks of one set of GPUs: what is proposed, compiled, ready, and where it is measured.
class TaskQueue {
 public:
  /// `make` makes what searches each of the workloads; it `learns` from results, and from what is known
  /// before the sweep (null: nothing), which outlives the queue.
  TaskQueue(GpuSet& gpu_set, const TuneSpec& spec, MakeStrategy* make, bool learns = false,
            const Knowledge* knowledge = nullptr);
  TaskQueue(TaskQueue&&) = default;

  /// Whether little should be under way: what is proposed follows from earlier results, or problems share a
  /// budget of time, and what one of them has begun to compile is measured in the time of the next.
  bool keeps_little_under_way() const { return learns_ || (budget_.seconds > 0 && searches_.size() > 1); }
  /// Whether what is proposed is for a problem whose share of the time has not begun: the GPU is not done
  /// with the one before, or not ready for this one.
  bool proposes_ahead();
  const Target& target() const { return gpu_set_->target(); }
  std::vector<Task>& tasks() { return gpu_set_->tasks; }

  std::vector<GpuSlot> slots;
  std::vector<std::shared_ptr<Candidate>> compiling;  ///< whose results are awaited
  std::deque<Candidate> ready;
  std::set<std::size_t> workloads_with_baseline_seen;
  std::map<std::size_t, WorkloadReference> references;  ///< by workload
  std::map<std::size_t, WorkloadBaselines> baselines;   ///< by workload, once one of them is begun
  std::map<std::size_t, std::string> failed_workloads;  ///< for want of a reference
  std::string last_retired;                             ///< the GPU given up last, and why
  Standings standings;
  std::set<std::size_t> measured_workloads;  ///< workloads with rows of this sweep
  std::vector<WorkloadFinals> finals;        ///< by workload

  /// What the rounds of finals may take: a quarter of an average share of the time; infinite where it is not
  /// shared.
  double longest_finals_us() const;

  /// Ends the searches that have had their share of the budget by `now_s`, the sweep's clock, or expect no
  /// gain that is worth it. A share of the time begins when a GPU is ready to measure, so that the first
  /// kernels are compiled by then, or after many results for which none was needed. What is compiled at its
  /// end is measured while the next problem compiles; the time that this took for earlier problems is not
  /// shared out.
  void end_searches(double now_s);
  /// The next configuration of the first workload that has any left, as its strategy chooses, which is asked
  /// for `most` at a time; those put off come when it has nothing more to choose, or waits for results, which
  /// may be theirs. None also while it waits for those of others.
  std::optional<Proposal> propose(std::size_t most);
  /// A few configurations whose kernels other problems of this sweep had compiled, for GPUs that would wait
  /// for compilers otherwise; none also where evaluations are counted.
  std::vector<Proposal> propose_compiled();
  /// Called when such a kernel has to be compiled after all: the template's source contains sizes.
  void forget_compiled(const Task& task);
  /// What became of a configuration, for the strategy: its median time, or none when it did not run.
  void tell(const Task& task, std::uint64_t index, std::optional<double> median_us);
  /// Puts a configuration off to the end of its workload.
  void defer(const Task* task, std::uint64_t index);

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
  /// The workload's first task.
  Task& task_of(std::size_t workload);

  /// Why no GPU that is left can measure a workload; none while one may.
  std::optional<std::string> why_unmeasurable(std::size_t workload) const;

  bool alive() const;
  /// Whether its candidates are compiled; all its evaluators are of one kind.
  bool compiles() const { return slots.front().evaluator->needs_binaries(); }
  /// Whether a candidate is being evaluated.
  bool is_measuring() const;
  bool idle() const;
  bool has_proposals() { return current_task() != nullptr; }
  /// Whether propose() gives nothing before tell() is called.
  bool is_waiting();
  /// Ends all searches because the sweep ends, for want of time or for another reason; what waits counts as
  /// not tried.
  void stop(bool is_out_of_time);
  std::vector<SearchedWorkload> searched() const;
  /// How many configurations will be tried, at most.
  std::uint64_t expected() const;
  /// Nothing is left that is not yet being measured.
  bool exhausted() { return !has_proposals() && compiling.empty() && ready.empty(); }

 private:
  /// How a workload is searched.
  struct Search {
    std::unique_ptr<Strategy> strategy;  ///< from its begin to its end
    Task* first = nullptr;               ///< tasks of a workload follow each other
    std::size_t tasks = 0;
    std::deque<Choice> asked;  ///< and not yet proposed
    std::set<Choice> pending;  ///< proposed, and what became of them is not known
    bool waits = false;        ///< it gave nothing, and there are results to come
    std::vector<std::pair<Choice, double>>
        times;  ///< of what ran, us; after its end the fastest and some others
    std::uint64_t proposed = 0;
    std::optional<std::uint64_t> most;  ///< its share of the evaluations, once it has begun
    std::optional<double> ends_at_s;    ///< by the sweep's clock, once its share of the time has begun
    bool has_begun = false;
    std::optional<SearchEnd> end;
    std::optional<std::vector<Choice>> compiled;  ///< for earlier problems; none: not listed yet
    std::size_t asks_compiled_at = 0;             ///< so many times, after it chose none of them

    bool has_spent_evaluations() const { return most && proposed >= *most; }
  };

  Task* current_task();
  Task* put_off(const Search& search);
  bool has_undecided(const Search& search) const;
  void ask(Search& search, std::size_t most);
  void begin(std::size_t workload);
  bool has_turn(std::size_t workload);
  bool is_under_way(std::size_t workload);
  static bool holds(const GpuSlot& slot, std::size_t workload);
  bool needs_no_gpu(std::size_t workload) const;
  void begin_time(std::size_t workload, double now_s);
  std::vector<Lesson> earlier_lessons(const Search& search) const;
  std::vector<Choice> compiled_for(const Search& search) const;
  Proposal proposal_of(Search& search, const Choice& choice);
  std::vector<Lesson> lessons_for(const Search& search) const;
  std::uint64_t shares_of(std::size_t workload) const;
  std::uint64_t share_of_evaluations(std::size_t workload) const;
  std::optional<SearchEnd> end_of(const Search& search, double now_s) const;
  void close(Search& search, SearchEnd end);
  void take_back(Task& task, std::uint64_t count);
  void drop_ready(std::size_t workload, std::size_t kept);
  void drop_waiting(std::size_t workload);
  std::vector<SearchedSpace> spaces_of(const Search& search) const;

  GpuSet* gpu_set_;
  Budget budget_;
  MakeStrategy* make_;
  std::uint64_t seed_;
  double after_shares_s_ = 0;  ///< what the ends of problems took after their shares, together
  int shares_ = 0;             ///< problems of which after_shares_s_ is known
  bool learns_;
  const Knowledge* knowledge_;
  std::vector<Search> searches_;  ///< by workload
  std::size_t next_task_ = 0;
  std::unordered_map<const Task*, std::vector<std::uint64_t>> deferred_;
};

}  // namespace tiletune
