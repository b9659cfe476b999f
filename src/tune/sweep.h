#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/stop.h"
#include "compile/pool.h"
#include "store/database.h"
#include "tune/evaluator.h"

namespace tiletune {

/// How far a task of a command has come.
struct ProgressState {
  std::string task;  ///< "sgemm_warptile 4096x4096x4096"
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< 0: not known
  std::string best;         ///< "52.1 TFLOP/s, 101.3% of cublaslt (sgemm_warptile)"; empty: none yet
};

/// Why a workload's search ended.
enum class SearchEnd { all_tried, strategy, gain, evaluations, time };

/// How much of a workload was tried.
struct SearchedWorkload {
  std::string problem;  ///< its label
  std::string gpu;      ///< the model's name
  std::uint64_t tried = 0;
  std::uint64_t valid = 0;
  std::optional<SearchEnd> end;  ///< none: the sweep ended before it did

  bool is_whole() const { return tried == valid; }
};

struct SweepOptions {
  CompilePoolOptions compile;
  std::string command;                ///< as typed, for provenance
  bool remeasure = false;             ///< do not reuse rows that are there
  bool keep_rows = true;              ///< otherwise they are counted only; not where anything is measured
  std::uint64_t rows_per_commit = 1;  ///< with more, those since the last commit are lost with the process
  std::filesystem::path learn_from =
      {};  ///< database, or folder of them, for strategies that learn; empty: none
  std::filesystem::path outputs = {};  ///< folder for what configurations leave in their outputs; empty: none
  double spent_s = 0;                  ///< of a time budget, before the sweep begins
  Stop interrupted = never_stop;       ///< finish what is in flight and stop
};

/// Who watches a sweep.
class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void on_progress(const ProgressState& state) = 0;
  virtual void on_note(const std::string& line) = 0;
};

/// How a sweep went.
struct SweepSummary {
  std::int64_t sweep_id = 0;
  std::uint64_t planned = 0;
  std::uint64_t finished = 0;                 ///< rows of this sweep, reused ones included
  std::uint64_t reused = 0;                   ///< rows that were there already
  std::uint64_t shared = 0;                   ///< rows that share another's measurement
  std::uint64_t warned = 0;                   ///< rows with a warning
  std::map<Outcome, std::uint64_t> outcomes;  ///< as they are after the finals
  bool interrupted = false;
  bool out_of_budget = false;
  std::vector<SearchedWorkload> searched;  ///< in the order of the problems, by set of GPUs
  std::vector<std::string> retired;        ///< GPUs that were given up, each with its reason
  /// What ended the sweep early: a GpuError when no GPU was left for a part of it, a UserError of the
  /// database or the machine. What was recorded until then stays.
  std::exception_ptr failure;
  double wall_s = 0;
  double compile_cpu_s = 0;
  double evaluate_s = 0;              ///< time the evaluators were busy, added up
  double gpu_s = 0;                   ///< part of evaluate_s that candidates and finals took on the GPUs
  std::uint64_t finals = 0;           ///< workloads whose best were re-measured
  std::uint64_t finals_left_out = 0;  ///< finals that were due and did not come to their end
  double finals_s = 0;
  std::int64_t discarded_samples = 0;  ///< because the GPU was throttled meanwhile
};

/// The one loop: propose -> compile -> admit -> evaluate -> record. Single-threaded; compile workers and the
/// GPU workers run beside it. Every row is committed as soon as it is known, unless the options say
/// otherwise. Throws UserError when the database does not even take the sweep's record.
SweepSummary run_sweep(const TuneSpec& spec, std::vector<GpuSet>& gpu_sets, Database& database,
                       const SweepOptions& options, SweepObserver& observer);

/// Chooses the strategy if the spec names none, from the estimated time of trying all configurations with
/// `workers` compile workers and `gpus` GPUs (0: times are predicted). Tries all if that fits the budget, or,
/// without a budget, takes less than a minute. Otherwise uses the best strategy, without a budget until it
/// expects no gain of 1%. Returns a line for the user; empty if the spec names a strategy, or all are tried.
std::string choose_strategy(TuneSpec& spec, const std::vector<Task>& tasks, std::size_t workers,
                            std::size_t gpus);

/// Leaves in the tasks' spaces, of each problem, the `most` configurations that rank first in the database
/// among those measured on a GPU: what a sweep of these tasks tries is all known, and its finals are those of
/// what was recorded, by whatever sweeps. Rows of other types, options or operations do not count, nor do
/// those whose values are none of a template's. Throws NothingToDo where there are none at all.
void keep_recorded(std::vector<Task>& tasks, const Database& database, const std::string& gpu,
                   std::size_t most);

}  // namespace tiletune
