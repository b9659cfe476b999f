#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "rank/history.h"
#include "rank/rows.h"
#include "store/database.h"

namespace tiletune {

/// How much one parameter alone says about the time.
struct ParameterImportance {
  std::string name;
  double share = 0;          ///< of the variance of log time, 0 to 1
  std::size_t values = 0;    ///< how many the parameter takes
  std::string best;          ///< the value whose times have the smallest geometric mean
  double worst_to_best = 1;  ///< ratio of the largest to the smallest of these means
};

/// First-order analysis of variance of log time: for each parameter the share of the variance between the
/// groups of rows that have the same value of it, adjusted for the number of values (epsilon squared; Kelley
/// 1935), so that a parameter that does nothing gets about 0. Where constraints tie parameters to each other
/// their shares overlap.
class Importance {
 public:
  /// `parameters`: an object of scalars. `time_us` is positive.
  void add(const nlohmann::ordered_json& parameters, double time_us);

  std::size_t rows() const { return total_.count; }
  /// The most important first; parameters of one value, or of thousands, are left out. None without any
  /// variance.
  std::vector<ParameterImportance> shares() const;

 private:
  struct Sum {
    std::size_t count = 0;
    double sum = 0;
    double mean() const { return sum / static_cast<double>(count); }
  };
  double first_ = 0;  ///< subtracted from all, so that squares keep their digits
  Sum total_;
  double squares_ = 0;
  std::map<std::string, std::map<std::string, Sum>> by_parameter_;
};

/// By template: [{"template", "rows", NAME: [{"parameter", "share", "values", "best", "worst_to_best"}]}], of
/// those of which something can be said.
nlohmann::ordered_json importance_json(const std::map<std::string, Importance>& by_template,
                                       const char* name);

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
