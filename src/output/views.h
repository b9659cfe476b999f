#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "output/portfolio.h"
#include "output/report/survey.h"
#include "output/view.h"
#include "rank/history.h"
#include "rank/ranking.h"
#include "store/database.h"
#include "store/trial.h"

// The views that commands show. They refer to what they are made from, and read rows when they are written.

namespace tiletune {

/// Configurations that did not run for one reason, whatever numbers are in it.
struct FailureKind {
  Outcome outcome = Outcome::refused;
  std::uint64_t count = 0;
  std::int64_t example = 0;  ///< id of the row that comes first by template, problem and parameters
  std::string reason;        ///< first line of the example's reason
};

/// The text with '#' for each number (48.5, 0x7f, 1e-05): reasons give the arithmetic of every configuration.
std::string without_numbers(std::string_view text);

/// The kinds of failures of kernels that neither ran nor were dropped as slow; the most frequent first.
std::vector<FailureKind> failure_kinds(const Database& database, const TrialFilter& filter);

/// For people: the most frequent kinds, two lines each, and how many more there are. Empty when there are
/// none.
std::string failure_lines(const std::vector<FailureKind>& kinds, const Database& database);

/// All of them: [{outcome, count, reason, example: {template, problem, gpu, parameters}}].
nlohmann::ordered_json to_json(const std::vector<FailureKind>& kinds, const Database& database);

struct RankingRequest {
  std::size_t limit = 20;                 ///< kernels per group; 0: all; baselines always show
  std::string sort_by = {};               ///< a column, or "-" and a column: descending; empty: rank
  std::vector<std::string> columns = {};  ///< of the database, or rank, tied; empty: the standard ones
  /// What did not run in a sweep, which JSON has as "failures".
  std::optional<std::vector<FailureKind>> failures = {};
};

/// Rankings. The table format has the standard columns rank, template, parameters, registers, occupancy and
/// limiter, median_us with interval, tflops, percent_of_baseline, percent_of_ceiling and bound
/// (percent_of_peak where no ceiling was measured), sustained_tflops and sustained_power_w; for rows that
/// device memory bounds, gbs and percent_of_copy in place of tflops, percent_of_ceiling and bound; without
/// columns that are empty in all rows shown; under the standard columns what is known of the finals, ties,
/// discarded samples and the method's floor. JSON groups are {gpu, problem, source, conditions, total_rows,
/// those facts, rows}; records of CSV are led by what makes rows comparable. Throws UserError for unknown
/// columns.
ViewDocument rankings_view(const std::vector<RankingGroup>& groups, const Database& database,
                           const RankingRequest& request = {});

/// What is known of a group's measurement beyond its rows. Absent where the rows do not say it.
struct GroupFacts {
  std::int64_t finalists = 0;                   ///< kernels that took part in the latest finals
  std::vector<std::string> final_baselines;     ///< that took turns with them
  std::int64_t final_rounds = 0;                ///< samples of the one that stayed longest
  std::optional<double> noise_floor_percent;    ///< noise floor of the latest finals
  std::optional<double> probability_near_best;  ///< that the first kernel is within 1% of the true best
  std::uint64_t discarded_samples = 0;          ///< of all rows ranked
  std::set<std::string> throttle_reasons;       ///< of the rows that lost samples
  std::optional<CalibrationRecord> floor;       ///< of the first kernel's GPU and driver
  std::string pipe;                             ///< of the first kernel
};

GroupFacts facts_of(const RankingGroup& group, const Database& database);

/// A line for each that is known.
std::vector<std::string> lines_of(const GroupFacts& facts);

/// Members of the group's JSON object; null for what is not known.
void add_facts(nlohmann::ordered_json& group, const GroupFacts& facts);

/// The steps of a config that asks for a ladder, in its order, or else its templates; none where it does not.
/// They refer to the database.
std::vector<LadderStep> ladder_steps(const std::string& config, const Database& database);
/// The steps of the first sweep whose config has some.
std::vector<LadderStep> ladder_steps(const Database& database);
/// Ladders with template, parameters, time, tflops, both speed-ups (ratios), percent_of_baseline.
ViewDocument ladders_view(const std::vector<Ladder>& ladders, const Database& database,
                          const std::optional<std::vector<FailureKind>>& failures = {});

/// The best kernel of each problem, a line each: template, parameters, time, tflops, the fastest baseline
/// with its time, percent_of_baseline, with how many others it is tied, and the noise floor of its finals;
/// under them the geometric mean of percent_of_baseline. A table per GPU, source and conditions; JSON lists
/// the tied ones.
ViewDocument winners_view(const std::vector<RankingGroup>& groups, const Database& database);

/// Chosen columns of rows that need not have run, in order of insertion, at most `limit` (0: all). Tables
/// leave out columns that no row shown has a value for; JSON has all columns.
ViewDocument trials_view(const Database& database, const TrialFilter& filter,
                         const std::vector<std::string>& columns, std::size_t limit);

/// How the best time of each problem fell. percent_of_best is 100 * the best time of all / the best time so
/// far.
ViewDocument histories_view(const std::vector<History>& histories, const Database& database);

/// By problem and template; "" stands for all templates.
using ImportanceOfProblems = std::map<Comparable, std::map<std::string, Importance>>;
/// Which parameters mattered. Throws NothingToDo where nothing can be said of any parameter.
ViewDocument importance_view(const ImportanceOfProblems& importance);

/// Portfolios. Tables: the regrets of 1, 2, ... kernels, the kernels, their predicted times, the best of them
/// for each problem, and lines on problems that were not tuned and on what was not measured. CSV: the best of
/// them for each problem. Regrets are in percent.
ViewDocument portfolios_view(const std::vector<RecordedPortfolio>& portfolios, const Database& database);

}  // namespace tiletune
