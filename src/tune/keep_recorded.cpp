#include "tune/keep_recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "rank/ranking.h"
#include "tune/row.h"
#include "tune/row_positions.h"

namespace tiletune {

namespace {

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
    auto positions = row_positions.of(row.parameters);
    if (positions && task->space.index_at(*positions) < task->space.size())
      return {task, std::move(*positions)};
  }
  return {nullptr, {}};
}

class Recorded {
 public:
  Recorded(const Database& database, const std::string& gpu, std::size_t most)
      : database_(database), most_(most) {
    TrialFilter filter;
    filter.gpus = {gpu};
    filter.sources = {Source::measured};
    filter.baselines = false;
    RankingRows rows = ranking_rows(database, filter);
    groups_ = rank_rows(rows);
    // Some words of a name suffice for the filter.
    std::erase_if(groups_, [&](const RankingGroup& group) { return group.gpu != gpu; });
  }

  /// The positions of the values of those that are kept, by task.
  std::map<Task*, std::vector<std::uint32_t>> of(const std::vector<Task*>& workload) const {
    std::map<Task*, std::vector<std::uint32_t>> kept;
    std::vector<Place> places;
    for (Task* task : workload) places.push_back({task, RowPositions(*task->spec)});
    for (const RankingGroup& group : groups_) {
      if (group.problem != workload.front()->problem.label()) continue;
      std::size_t count = 0;
      for (const RankedRow& ranked : group.rows) {
        if (count == most_) break;
        if (ranked.rank == 0) continue;
        const auto [task, positions] = place_of(database_.row(ranked.id), places);
        if (task == nullptr) continue;
        kept[task].insert(kept[task].end(), positions.begin(), positions.end());
        ++count;
      }
    }
    return kept;
  }

 private:
  const Database& database_;
  std::size_t most_;
  std::vector<RankingGroup> groups_;
};

}  // namespace

void keep_recorded(std::vector<Task>& tasks, const Database& database, const std::string& gpu,
                   std::size_t most) {
  std::map<std::size_t, std::vector<Task*>> workloads;
  for (Task& task : tasks) workloads[task.workload].push_back(&task);
  const Recorded recorded(database, gpu, most);
  std::uint64_t left = 0;
  for (const auto& [number, workload] : workloads) {
    std::map<Task*, std::vector<std::uint32_t>> kept = recorded.of(workload);
    for (Task* task : workload) {
      left += task->spec->parameters.empty() ? task->planned : 0;
      if (task->spec->parameters.empty()) continue;  // It has one configuration.
      TemplateSpec only = *task->spec;
      only.listed = std::move(kept[task]);
      task->space = Space(only, task->problem);
      left += task->planned = task->space.size();
    }
  }
  if (left > 0) return;
  throw NothingToDo(fmt::format("no configuration of this config was measured on {}", gpu),
                    Where{database.file().string(), ""},
                    "Name the database of its sweeps with --db FILE, or leave out --recorded.");
}

}  // namespace tiletune
