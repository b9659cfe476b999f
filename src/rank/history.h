#pragma once

#include <cstdint>
#include <vector>

#include "rank/rows.h"
#include "store/database.h"

namespace tiletune {

/// A configuration that was faster than all before it.
struct HistoryStep {
  std::int64_t id = 0;           ///< of its row
  std::uint64_t evaluation = 0;  ///< how many configurations had been evaluated, with this one
  double cost_s = 0;             ///< recorded seconds of compiling and measuring until then
  double best_us = 0;            ///< before any finals
};

/// How the best time of a problem fell.
struct History : Comparable {
  std::uint64_t evaluations = 0;   ///< in all, with those that failed
  std::uint64_t without_cost = 0;  ///< of these, whose rows say nothing of compiling and measuring
  double cost_s = 0;               ///< in all
  std::vector<HistoryStep> steps = {};
};

/// Of the kernels that the filter passes, in the order in which their rows were inserted. Each row is an
/// evaluation, whatever became of it, with the cost that replays count (compile_ms + measure_ms). Rows that
/// were only dispatched and those that a recording lacked do not count. Failures belong to every state of the
/// L2 cache in which their problem was timed.
std::vector<History> histories(const Database& database, const TrialFilter& filter);

}  // namespace tiletune
