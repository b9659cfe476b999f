#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "rank/ranking.h"
#include "search/strategies.h"
#include "tune/knowledge.h"
#include "tune/row.h"
#include "tune/sweep.h"

namespace tiletune {

namespace {

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

/// How long trying all configurations would take, with so many compile workers and GPUs (0: times are
/// predicted).
double exhaustive_seconds(std::uint64_t count, std::size_t workers, std::size_t gpus) {
  const double compiling = kCompileCpuSeconds / static_cast<double>(std::max<std::size_t>(1, workers));
  const double measuring = gpus == 0 ? 0 : kMeasureSeconds / static_cast<double>(gpus);
  return static_cast<double>(count) * std::max(compiling, measuring);
}

}  // namespace

std::string choose_strategy(TuneSpec& spec, const std::vector<Task>& tasks, std::size_t workers,
                            std::size_t gpus) {
  if (spec.strategy.name != kAutomaticStrategy) return "";
  Budget& budget = spec.budget;
  std::uint64_t count = 0;
  for (const Task& task : tasks) count += task.space.size();
  const double seconds = exhaustive_seconds(count, workers, gpus);
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
