#pragma once

#include <optional>
#include <vector>

#include "measure/messages.h"
#include "store/database.h"
#include "tune/task_queue.h"

namespace tiletune {

/// A row and what the finals gave for it.
struct FinalRow {
  Trial row;
  const FinalTime* time = nullptr;  ///< with a timing
};

/// Everybody with a time in a workload's finals.
struct FinalRows {
  std::vector<FinalRow> finalists;  ///< at least one; the leader first
  std::optional<FinalRow> twin;     ///< with the leader's row
  std::vector<FinalRow> baselines;
};

/// Looks up the rows of those whose finals went well, and matches the workload's baselines by name.
FinalRows collect_final_rows(const Database& database, const WorkloadFinals& finals,
                             const FinalsMeasured& measured, const std::vector<Trial>& baselines);

/// The rows with their times in the finals in the place of those before, and what the finals' statistics say
/// of them. The twin's becomes a row of its own.
std::vector<Trial> rows_with_final_times(FinalRows finals, const GpuCondition& condition, const GpuSlot& slot,
                                         const Task& task);

}  // namespace tiletune
