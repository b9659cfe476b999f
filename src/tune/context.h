#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "compile/pool.h"
#include "measure/messages.h"
#include "search/strategies.h"
#include "store/database.h"
#include "tune/sweep.h"
#include "tune/task.h"
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
               const SweepOptions& given_options, SweepObserver& given_observer)
      : spec(given_spec),
        database(given_database),
        options(given_options),
        observer(given_observer),
        pool(pool_options(given_options.compile, given_spec, gpu_sets)) {
    queues.reserve(gpu_sets.size());
    const StrategyEntry& strategy = find_strategy(spec.strategy);
    if (!options.learn_from.empty() && strategy.learns)
      knowledge.emplace(options.learn_from, gpu_sets.front().tasks, database.file());
    for (GpuSet& gpu_set : gpu_sets)
      queues.emplace_back(gpu_set, spec, strategy.make, strategy.learns, knowledge ? &*knowledge : nullptr);
    if (!options.outputs.empty()) outputs.emplace(options.outputs);
  }

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

 private:
  /// Each set of GPUs has read its kernels by itself, and may have found them in other folders.
  static CompilePoolOptions pool_options(CompilePoolOptions options, const TuneSpec& spec,
                                         const std::vector<GpuSet>& gpu_sets) {
    for (const GpuSet& gpu_set : gpu_sets) options = with_folders(std::move(options), spec, gpu_set.tasks);
    return options;
  }
};

}  // namespace tiletune
