#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "output/report/importance.h"
#include "rank/history.h"
#include "rank/rows.h"
#include "store/database.h"

namespace tiletune {

/// Rows that did not run, for one reason up to its numbers.
struct Failures {
  std::int64_t count = 0;
  std::string reason;      ///< of the first one
  std::string parameters;  ///< of the first one, for people
};

/// What the rows of one GPU, problem, source and conditions come to, those that never ran included. The state
/// of the L2 cache is left out of the conditions: rows that were not timed have none.
struct Outcomes {
  std::map<Outcome, std::int64_t> counts;  ///< of kernels
  std::int64_t verified = 0;               ///< kernels that are ok and whose result was compared
  std::map<std::tuple<Outcome, std::string, std::string>, Failures>
      reasons;                     ///< by outcome, template, pattern
  std::int64_t more_failures = 0;  ///< of further reasons than are listed
};

/// A configuration that has a time.
struct TimedRow {
  std::int64_t id = 0;
  double time_us = 0;
  bool screened_out = false;  ///< given up as too slow, by its first samples
};

/// A reading of all rows of a filter.
struct Survey {
  RankingRows ranking;
  std::map<Comparable, Outcomes> outcomes;  ///< conditions without the cache
  /// Configurations with a time that no later row replaces, fastest first.
  std::map<Comparable, std::vector<TimedRow>> timed;
  std::map<Comparable, std::map<std::string, Importance>> importance;  ///< by template; "" over all templates
  std::map<Comparable, History> histories;
};

Survey survey(const Database& database, const TrialFilter& filter);

}  // namespace tiletune
