#include "tune/sweep.h"

#include <fmt/format.h>

#include "base/system.h"
#include "base/text.h"
#include "base/version.h"
#include "rank/ranking.h"
#include "search/strategies.h"
#include "store/row_batch.h"
#include "tune/engine.h"
#include "tune/knowledge.h"
#include "tune/row.h"

namespace tiletune {

namespace {

SweepRecord sweep_record(const SweepContext& sweep) {
  SweepRecord record;
  record.started_at = utc_now();
  record.command = sweep.options.command;
  record.config_file = sweep.spec.file.string();
  record.config = sweep.spec.config_json;
  record.tiletune_version = kVersion;
  record.git_commit = git_commit(std::filesystem::absolute(sweep.spec.file).parent_path());
  record.host = host_name();
  record.shard = sweep.spec.shard.label();
  for (const TaskQueue& queue : sweep.queues) {
    if (!record.gpu.empty()) record.gpu += ", ";
    if (queue.slots.size() > 1) record.gpu += fmt::format("{} x ", queue.slots.size());
    record.gpu += queue.target().name;
  }
  return record;
}

class Sweep {
 public:
  Sweep(const TuneSpec& spec, std::vector<GpuSet>& gpu_sets, Database& database, const SweepOptions& options,
        SweepObserver& observer)
      : gpu_sets_(gpu_sets), sweep_(spec, gpu_sets, database, options, observer) {}

  SweepSummary run() {
    sweep_.summary.sweep_id = sweep_.database.begin_sweep(sweep_record(sweep_));
    adopt_earlier_rows();
    for (const TaskQueue& queue : sweep_.queues) sweep_.summary.planned += queue.searches.expected();
    try {
      if (sweep_.options.rows_per_commit > 1) writes_.emplace(sweep_.database);
      tell_of_lessons();
      references_.compile_kernels();
      while (!done()) {
        wait();
        step();
      }
      if (writes_) writes_->commit();
      dispatcher_.check_survivors();
    } catch (const UserError&) {
      sweep_.summary.failure = std::current_exception();
    } catch (const GpuError&) {
      sweep_.summary.failure = std::current_exception();
    }
    finish();
    return sweep_.summary;
  }

 private:
  void tell_of_lessons() {
    if (!sweep_.knowledge) return;
    if (sweep_.knowledge->is_empty()) {
      sweep_.observer.on_note(
          fmt::format("{} holds nothing yet to learn from", sweep_.options.learn_from.string()));
      return;
    }
    const auto correlation = sweep_.knowledge->rank_correlation(gpu_sets_.front().tasks);
    const std::string error =
        correlation ? fmt::format("; problems left out in turn are ordered with a rank correlation of {:.2f}",
                                  *correlation)
                    : "; how well that orders another problem is unknown: it takes two";
    sweep_.observer.on_note("learns from " + sweep_.knowledge->summary() + error);
  }

  void step() {
    intake_.propose();
    sweep_.pool.deliver();
    references_.attend();
    for (TaskQueue& queue : sweep_.queues)
      for (GpuSlot& slot : queue.slots) dispatcher_.attend(queue, slot);
    if (writes_ && sweep_.summary.finished >= committed_ + sweep_.options.rows_per_commit) {
      writes_->commit();
      committed_ = sweep_.summary.finished;
    }
    report();
  }

  void finish() {
    writes_.reset();
    sweep_.summary.wall_s = seconds_since(sweep_.started);
    sweep_.summary.compile_cpu_s = sweep_.pool.compile_cpu_seconds();
    for (TaskQueue& queue : sweep_.queues) {
      // What waits in vain was not tried.
      if (sweep_.summary.failure) queue.stop(false);
      for (SearchedWorkload& one : queue.searches.summary()) {
        sweep_.summary.out_of_budget |= one.end == SearchEnd::time;
        sweep_.summary.searched.push_back(std::move(one));
      }
    }
    try {
      const std::string now = utc_now();
      sweep_.database.end_sweep(sweep_.summary.sweep_id, now);
      if (!sweep_.stopping) note_choices(now);
    } catch (const UserError&) {
      if (!sweep_.summary.failure) sweep_.summary.failure = std::current_exception();
    }
  }

  /// Rows of before version 0.3 have no operation_hash.
  void adopt_earlier_rows() {
    std::map<std::pair<std::string, std::string>, std::string> hashes;  // by operation and template
    for (const GpuSet& gpu_set : gpu_sets_) {
      if (gpu_set.target().source != Source::measured) continue;
      for (const Task& task : gpu_set.tasks) {
        hashes.try_emplace({task.spec->operation.name, task.spec->name},
                           operation_hash(task, task.spec->tolerance_factor));
        hashes.try_emplace({task.spec->operation.name, ""}, operation_hash(task));
      }
    }
    for (const auto& [of, hash] : hashes) sweep_.database.adopt(of.first, of.second, hash);
  }

  /// One configuration, as 'bench' measures it, is no choice.
  void note_choices(const std::string& now) {
    TrialFilter filter;
    filter.sweep_id = sweep_.summary.sweep_id;
    filter.sources = {Source::measured};
    RankingRows rows = ranking_rows(sweep_.database, filter);
    for (const RankingGroup& group : rank_rows(rows)) {
      const auto best = std::ranges::find(group.rows, 1, &RankedRow::rank);
      const auto is_kernel = [](const RankedRow& row) { return row.rank > 0; };
      if (std::ranges::count_if(group.rows, is_kernel) > 1) sweep_.database.choose(best->id, now);
    }
  }

  bool done() {
    // Ctrl-C and the time budget: nothing new is started, and only the evaluators are waited for. What is
    // being compiled or waits compiled has no row yet; the next run of the sweep finds it in the kernel
    // cache.
    SweepSummary& summary = sweep_.summary;
    if (sweep_.options.interrupted() && !std::exchange(summary.interrupted, true))
      sweep_.observer.on_note("finishing what is being measured; interrupt again to stop at once");
    if (!sweep_.stopping) {
      summary.out_of_budget = sweep_.is_out_of_time();
      sweep_.stopping = summary.interrupted || summary.out_of_budget;
      for (TaskQueue& queue : sweep_.queues)
        if (sweep_.stopping) queue.stop(summary.out_of_budget);
    }
    if (sweep_.stopping) dispatcher_.abandon_preparations();
    return std::all_of(sweep_.queues.begin(), sweep_.queues.end(), [&](TaskQueue& queue) {
      const bool through = sweep_.stopping || !queue.alive() || queue.exhausted();
      return finals_.over(queue) && queue.idle() && through;
    });
  }

  void report() {
    const auto is_measuring = [](const TaskQueue& queue) {
      return std::ranges::any_of(queue.slots, [](const GpuSlot& one) { return one.measuring.has_value(); });
    };
    if (std::ranges::none_of(sweep_.queues, is_measuring)) {
      if (const auto finals = finals_.progress()) return sweep_.observer.on_progress(*finals);
    }
    ProgressState state = recorder_.scoreboard().state(gpu_sets_.front().tasks.front());
    state.done = sweep_.summary.finished;
    for (const TaskQueue& queue : sweep_.queues) state.total += queue.searches.expected();
    sweep_.observer.on_progress(state);
  }

  /// Until a worker has something to say, or a deadline is due.
  void wait() {
    if (intake_.has_idle_compilers()) return;
    std::vector<int> descriptors;
    auto due = Clock::time_point::max();
    for (const TaskQueue& queue : sweep_.queues) {
      for (const WorkloadState& workload : queue.workloads) {
        if (!workload.kit.python) continue;
        if (workload.kit.python->fd() >= 0) descriptors.push_back(workload.kit.python->fd());
        due = std::min(due, workload.kit.python->deadline());
      }
      for (const GpuSlot& slot : queue.slots) {
        if (slot.retired) continue;
        if (slot.evaluator->fd() >= 0) descriptors.push_back(slot.evaluator->fd());
        due = std::min(due, slot.evaluator->deadline());
      }
    }
    wait_for_work(sweep_.pool, descriptors, due);
  }

  const std::vector<GpuSet>& gpu_sets_;
  SweepContext sweep_;
  std::optional<GroupedWrites> writes_;
  std::uint64_t committed_ = 0;  ///< rows
  Recorder recorder_{sweep_};
  Intake intake_{sweep_, recorder_};
  Finals finals_{sweep_, recorder_};
  References references_{sweep_};
  Dispatcher dispatcher_{sweep_, recorder_, finals_, references_};
};

/// What a configuration takes: the mean over 11,369 of configs/sgemm_dispatch.json on an H200 with 16 cores
/// (results/h200/sgemm_dispatch.txt), which are larger kernels than most.
constexpr double kCompileCpuSeconds = 0.4;
constexpr double kMeasureSeconds = 0.025;

constexpr double kShortSeconds = 60;
constexpr double kUntilPercent = 1;

/// A task, and what finds the values of its rows.
struct Place {
  Task* task = nullptr;
  RowPositions positions;
};

/// Which of a workload's tasks a row is of, and where its values stand; null: of none.
std::pair<Task*, std::vector<std::uint32_t>> place_of(const Trial& row, const std::vector<Place>& places) {
  for (const auto& [task, row_positions] : places) {
    const Operation& operation = task->spec->operation;
    if (row.template_name != task->spec->name || row.operation != operation.name ||
        !is_of_variant(row, operation))
      continue;
    auto positions = row_positions.positions_of(row.parameters);
    if (positions && task->space.index_at(*positions) < task->space.size())
      return {task, std::move(*positions)};
  }
  return {nullptr, {}};
}

/// The positions of the values of a workload's `most` configurations that rank first, by task.
std::map<Task*, std::vector<std::uint32_t>> recorded_positions(const std::vector<Task*>& workload,
                                                               const std::vector<RankingGroup>& groups,
                                                               const Database& database, std::size_t most) {
  std::map<Task*, std::vector<std::uint32_t>> kept;
  std::vector<Place> places;
  for (Task* task : workload) places.push_back({task, RowPositions(*task->spec)});
  for (const RankingGroup& group : groups) {
    if (group.problem != workload.front()->problem.label()) continue;
    std::size_t count = 0;
    for (const RankedRow& ranked : group.rows) {
      if (count == most) break;
      if (ranked.rank == 0) continue;
      const auto [task, positions] = place_of(database.row(ranked.id), places);
      if (task == nullptr) continue;
      kept[task].insert(kept[task].end(), positions.begin(), positions.end());
      ++count;
    }
  }
  return kept;
}

}  // namespace

SweepContext::SweepContext(const TuneSpec& given_spec, std::vector<GpuSet>& gpu_sets,
                           Database& given_database, const SweepOptions& given_options,
                           SweepObserver& given_observer)
    : spec(given_spec), database(given_database), options(given_options), observer(given_observer), pool([&] {
        CompilePoolOptions all = given_options.compile;
        // Each set of GPUs has read its kernels by itself, and may have found them in other folders.
        for (const GpuSet& one : gpu_sets) all = with_folders(std::move(all), given_spec, one.tasks);
        return all;
      }()) {
  queues.reserve(gpu_sets.size());
  const StrategyEntry& strategy = find_strategy(spec.strategy);
  if (!options.learn_from.empty() && strategy.learns)
    knowledge.emplace(options.learn_from, gpu_sets.front().tasks, database.file());
  for (GpuSet& gpu_set : gpu_sets)
    queues.emplace_back(gpu_set, spec, strategy.make, strategy.learns, knowledge ? &*knowledge : nullptr);
  if (!options.outputs.empty()) outputs.emplace(options.outputs);
}

SweepSummary run_sweep(const TuneSpec& spec, std::vector<GpuSet>& gpu_sets, Database& database,
                       const SweepOptions& options, SweepObserver& observer) {
  return Sweep(spec, gpu_sets, database, options, observer).run();
}

std::string choose_strategy(TuneSpec& spec, const std::vector<Task>& tasks, std::size_t workers,
                            std::size_t gpus) {
  if (spec.strategy.name != kAutomaticStrategy) return "";
  Budget& budget = spec.budget;
  std::uint64_t count = 0;
  for (const Task& task : tasks) count += task.space.size();
  const double compiling = kCompileCpuSeconds / static_cast<double>(std::max<std::size_t>(1, workers));
  const double measuring = gpus == 0 ? 0 : kMeasureSeconds / static_cast<double>(gpus);
  const double seconds = static_cast<double>(count) * std::max(compiling, measuring);
  const bool fits_time = seconds <= (budget.seconds > 0 ? budget.seconds : kShortSeconds);
  const bool fits_count = budget.evaluations == 0 || count <= budget.evaluations;
  if (budget.until_percent == 0 && fits_count &&
      (fits_time || (budget.evaluations > 0 && budget.seconds == 0))) {
    spec.strategy.name = "exhaustive";
    return "";
  }
  spec.strategy.name = kBestStrategy;
  if (!budget.is_bounded()) budget.until_percent = kUntilPercent;
  const std::string until =
      budget.until_percent > 0 ? fmt::format(" until it expects no gain of {:g}%", budget.until_percent) : "";
  return fmt::format("trying all would take about {}: strategy {}{} (all: --strategy exhaustive)",
                     human_seconds(seconds), kBestStrategy, until);
}

void keep_recorded(std::vector<Task>& tasks, const Database& database, const std::string& gpu,
                   std::size_t most) {
  std::map<std::size_t, std::vector<Task*>> workloads;
  for (Task& task : tasks) workloads[task.workload].push_back(&task);
  TrialFilter filter;
  filter.gpus = {gpu};
  filter.sources = {Source::measured};
  filter.baselines = false;
  RankingRows rows = ranking_rows(database, filter);
  std::vector<RankingGroup> groups = rank_rows(rows);
  // Some words of a name suffice for the filter.
  std::erase_if(groups, [&](const RankingGroup& group) { return group.gpu != gpu; });
  std::uint64_t left = 0;
  for (const auto& [number, workload] : workloads) {
    std::map<Task*, std::vector<std::uint32_t>> kept = recorded_positions(workload, groups, database, most);
    for (Task* task : workload) {
      if (!task->spec->parameters.empty()) {  // Otherwise it has one configuration.
        TemplateSpec only = *task->spec;
        only.listed = std::move(kept[task]);
        task->space = Space(only, task->problem);
      }
      left += task->space.size();
    }
  }
  if (left > 0) return;
  throw NothingToDo(fmt::format("no configuration of this config was measured on {}", gpu),
                    Where{database.file().string(), ""},
                    "Name the database of its sweeps with --db FILE, or leave out --recorded.");
}

}  // namespace tiletune
