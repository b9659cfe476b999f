#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compile/pool.h"
#include "compile/source.h"
#include "store/database.h"
#include "tune/sweep.h"
#include "tune/task_queue.h"

namespace tiletune {

/// Where the outputs of configurations are kept: FOLDER/<row's key>/<buffer>.npy. bf16 and fp8 are written as
/// unsigned integers, which have their bits.
class OutputFiles {
 public:
  /// Makes the folder where it is missing. Throws UserError.
  explicit OutputFiles(const std::filesystem::path& folder);
  /// Removes what was prepared and not kept.
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  /// Files for the outputs of a configuration that is to be measured, which its worker fills. Throws
  /// UserError when there is no space.
  std::vector<OutputFile> prepare(const Task& task);
  /// Gives them the name of its row, in place of those of an earlier measurement.
  void keep(const std::vector<OutputFile>& files, const std::string& key) const;
  /// The configuration did not run.
  static void drop(const std::vector<OutputFile>& files);

 private:
  std::filesystem::path unfinished(std::uint64_t number) const;

  std::filesystem::path folder_;
  std::uint64_t prepared_ = 0;
};

/// What the parts of one sweep share.
struct SweepContext {
  SweepContext(const TuneSpec& given_spec, std::vector<GpuSet>& gpu_sets, Database& given_database,
               const SweepOptions& given_options, SweepObserver& given_observer);

  const TuneSpec& spec;
  Database& database;
  const SweepOptions& options;
  SweepObserver& observer;
  CompilePool pool;
  std::optional<Knowledge> knowledge;  ///< of the first set's templates, which all sets have
  std::vector<TaskQueue> queues;
  std::optional<OutputFiles> outputs;
  SweepSummary summary;
  bool stopping = false;  ///< Ctrl-C or the time budget: no further configuration is begun
  const Clock::time_point started = Clock::now();

  /// By the clock that the budget counts by, with what was spent before the sweep began.
  double elapsed_s() const {
    return queues.front().slots.front().evaluator->simulated_s().value_or(options.spent_s +
                                                                          seconds_since(started));
  }
  bool is_out_of_time() const { return spec.budget.seconds > 0 && elapsed_s() >= spec.budget.seconds; }
  /// The request that compiles a configuration for a queue's GPUs.
  CompileRequest request(const TaskQueue& queue, const Task& task, const Instance& instance) const {
    return make_compile_request(spec.compile, *task.source, instance, queue.target().architecture);
  }
};

/// What the live line shows beside the counts: the task that had a row last, and the best time so far of its
/// problem on its GPU.
class Scoreboard {
 public:
  /// `row` is of `task`.
  void add(const Task& task, const Trial& row);
  ProgressState state(const Task& first_task) const;

 private:
  struct Best {
    double median_us = 0;
    std::string text;  ///< "52.0 TFLOP/s, 102.0% of cublaslt (sgemm_warptile)"
  };
  std::string task_;   ///< of the last row
  std::string place_;  ///< its GPU and problem
  std::map<std::string, Best> best_;
};

/// Writes rows, and counts what has become of the configurations.
class Recorder {
 public:
  explicit Recorder(SweepContext& sweep) : sweep_(sweep) {}

  /// The end of a candidate.
  void record(TaskQueue& queue, Candidate candidate);
  void refuse(TaskQueue& queue, Candidate candidate, const std::string& reason);
  /// Journals that a candidate is about to run.
  void dispatch(Candidate& candidate);
  /// Writes rows of baselines, or rows with their times from the finals.
  void record_rows(std::vector<Trial> rows);
  /// The finals have found a fault in the configuration of a row, which therefore ranks no more.
  void disqualify(const std::string& key, Outcome outcome, const std::string& reason);
  /// A configuration that was screened out has to be measured after all.
  void try_again(TaskQueue& queue, const Screened& screened);
  /// Takes the row of a candidate that is there already, or puts the candidate off to the end of its task:
  /// one that was being measured when another sweep ended abruptly may have been the end of the whole
  /// machine, or another sweep may be at it right now; and one that was screened out cannot be judged before
  /// a leader is known. The row of another configuration with the same measurement serves as well: the
  /// candidate gets a row that shares it. False when the candidate has to be tried.
  bool is_known(TaskQueue& queue, const Candidate& candidate);

  const Scoreboard& scoreboard() const { return scoreboard_; }

 private:
  void keep(std::vector<Trial> rows);
  void reuse(TaskQueue& queue, const Candidate& candidate, const Trial& known);
  void describe(const TaskQueue& queue, const Candidate& candidate, Trial& row);
  void see_baseline(TaskQueue& queue, const Candidate& candidate, const Trial& row);
  void stamp(Trial& row);
  void count(TaskQueue& queue, const Candidate& candidate, const Trial& row);
  void uncount(Outcome outcome);

  SweepContext& sweep_;
  Scoreboard scoreboard_;
};

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
  bool start(TaskQueue& queue, const Proposal& proposal);
  void admit(TaskQueue& queue, Candidate candidate, const Compiled& compiled);
  bool recognise(const CompileRequest& request, Trial& row);

  SweepContext& sweep_;
  Recorder& recorder_;
  DependencyCheck files_;
  IncludedLists lists_;
};

/// Prepares what each workload needs before it is measured. Compiles reference kernels and those that compute
/// inputs, runs Python functions, chooses and compiles the configurations that must agree, and compiles
/// baselines that are kernels.
class References {
 public:
  explicit References(SweepContext& sweep) : sweep_(sweep) {}

  /// Compiles the kernels of all workloads' operations, which are part of their rows' keys.
  void compile_kernels();
  /// Takes what Python functions have come to meanwhile.
  void attend();
  /// Whether a workload's kit is complete. Begins to prepare it at the first call. If that fails, the
  /// workload's `failure` is set.
  bool ready(TaskQueue& queue, std::size_t workload);

 private:
  void compile_kernels(TaskQueue& queue, Task& task);
  void compile_candidate(TaskQueue& queue, std::size_t workload, Candidate candidate);
  void take_template(TaskQueue& queue, std::size_t workload, const Compiled& compiled);
  void begin_consensus(TaskQueue& queue, std::size_t workload);
  void choose_candidates(TaskQueue& queue, std::size_t workload);
  void begin_baseline(TaskQueue& queue, std::size_t workload, Task& task);
  void take_baseline(TaskQueue& queue, std::size_t workload, Candidate candidate, const Compiled& compiled);
  void fail(TaskQueue& queue, std::size_t workload, const std::string& why);

  SweepContext& sweep_;
};

/// The finals of every workload: when they are due, who takes part, and what becomes of it. When nothing of a
/// workload is left to try, its best are re-measured, interleaved, on one GPU; others go on meanwhile.
class Finals {
 public:
  Finals(SweepContext& sweep, Recorder& recorder);

  /// The workload whose finals are `ready` and should run on this idle GPU, if any.
  std::optional<std::size_t> due(TaskQueue& queue, const GpuSlot& slot);
  /// Starts the finals on a GPU that holds the workload.
  void start(TaskQueue& queue, GpuSlot& slot);
  /// Takes the times of the finals.
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
  std::string policy_text(const TaskQueue& queue) const;
  void take_compiled(TaskQueue& queue, std::size_t workload, std::size_t place, const Compiled& compiled);
  bool find_implausible(const TaskQueue& queue, GpuSlot& slot, WorkloadFinals& finals,
                        const FinalsMeasured& measured) const;
  bool confirm_faults(TaskQueue& queue, std::size_t workload);
  void free_slot(GpuSlot& slot, WorkloadFinals& finals);
  void repeat(TaskQueue& queue, std::size_t workload, const std::string& why);
  void leave_out(TaskQueue& queue, std::size_t workload, const std::string& why);
  void close(TaskQueue& queue, std::size_t workload);

  SweepContext& sweep_;
  Recorder& recorder_;
};

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
  bool prepare_workload(TaskQueue& queue, GpuSlot& slot, const Task& task);
  bool is_known(TaskQueue& queue, Candidate& candidate);
  void submit(TaskQueue& queue, GpuSlot& slot, Candidate candidate);
  void take(TaskQueue& queue, GpuSlot& slot, Evaluation evaluation);
  void settle(TaskQueue& queue, GpuSlot& slot, Candidate candidate);
  void count_disproved(TaskQueue& queue, const Evaluator* evaluator);
  void retire(TaskQueue& queue, GpuSlot& slot, const std::string& reason);
  void try_again(TaskQueue& queue, Candidate candidate);

  SweepContext& sweep_;
  Recorder& recorder_;
  Finals& finals_;
  References& references_;
};

}  // namespace tiletune
