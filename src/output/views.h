#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "output/applied_portfolio.h"
#include "output/failures.h"
#include "output/portfolio.h"
#include "output/report/importance.h"
#include "output/view.h"
#include "rank/history.h"
#include "rank/ranking.h"
#include "store/database.h"
#include "store/trial.h"

// The views that commands show. They refer to what they are made from, and read rows when they are written.

namespace tiletune {

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

/// What portfolios come to on other problems. Tables: the choice for each problem, the kernels, and lines
/// with the median, the 90th percentile and the maximum of the regrets, and on what could not be judged.
/// JSON: one object {"tiletune", "applied": [...], "without_portfolio": [...]}; CSV: the choice for each
/// problem. Regrets are in percent.
ViewDocument applied_view(const std::vector<AppliedPortfolio>& applied,
                          const std::vector<Comparable>& without);

}  // namespace tiletune
