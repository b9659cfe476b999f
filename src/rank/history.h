#pragma once

#include <array>
#include <cstdint>
#include <map>
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
  std::uint64_t without_cost = 0;  ///< evaluations whose rows say nothing of compiling and measuring
  double cost_s = 0;               ///< in all
  std::vector<HistoryStep> steps = {};
};

/// Collects histories from rows in the order in which they were inserted.
class HistoryReader {
 public:
  /// What a reading of rows must ask for beside ranking_columns().
  static constexpr std::array kMoreColumns{"compile_ms", "measure_ms"};

  /// Rows that are not kernels, were only dispatched, or that a recording lacked do not count.
  void add(std::int64_t id, const Trial& trial);

  /// Problems in the order of their first rows; of those of which nothing ran none.
  std::vector<History> histories() const;

 private:
  struct Evaluation {
    std::int64_t id = 0;
    double cost_s = 0;
    double time_us = 0;  ///< 0: it did not run, or was given up as slow
    bool has_cost = false;
    std::uint32_t cache = 0;  ///< place among the problem's caches; of what was not timed, kNoCache
  };
  /// The evaluations of one problem, in all states of the cache.
  struct Evaluations {
    std::vector<Comparable> caches;
    std::vector<Evaluation> all;
  };

  std::map<Comparable, std::size_t> places_;
  std::vector<Evaluations> problems_;
};

/// At most `most` (2 or more) of the steps: the first, the last, and of those between each that brings the
/// logarithm of the time into another of equal parts of its way.
std::vector<HistoryStep> thinned(const std::vector<HistoryStep>& steps, std::size_t most);

/// Histories of the kernels that the filter passes, in the order of their rows' insertion. Each row is an
/// evaluation, whatever became of it, with the cost that replays count (compile_ms + measure_ms). Rows that
/// were only dispatched and those that a recording lacked do not count. Failures belong to every state of the
/// L2 cache in which their problem was timed.
std::vector<History> histories(const Database& database, const TrialFilter& filter);

}  // namespace tiletune
