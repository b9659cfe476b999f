#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "output/failures.h"
#include "output/portfolio.h"
#include "output/table.h"
#include "rank/ranking.h"
#include "store/database.h"
#include "store/trial.h"

namespace tiletune {

enum class Format { table, json, csv, markdown };
inline constexpr std::initializer_list<Format> kAllFormats{Format::table, Format::json, Format::csv,
                                                           Format::markdown};
/// Throws UserError with the names of those a command has.
Format format_from_name(const std::string& name, std::initializer_list<Format> formats = kAllFormats);

/// What every output says of rows whose time was not measured on that GPU in this database; empty for
/// measured ones.
std::string source_banner(Source source, const std::string& gpu);

/// All columns of a row; nulls for what is absent, JSON columns as JSON, no raw samples unless asked.
nlohmann::ordered_json to_json(const Trial& trial, bool with_samples = false);

/// The same with the list of its sweeps: what `export` writes of a row that for_each_with_sweeps() gave.
nlohmann::ordered_json exported_row(const Trial& trial, bool with_samples);

/// Adds "sweeps" and "calibrations", which `export` writes beside the rows.
void add_records(nlohmann::ordered_json& object, const Database& database);

/// What is recorded of a run of the sweep command; finished_at is null when it never ended.
nlohmann::ordered_json to_json(const SweepRecord& sweep);

struct RankingView {
  std::size_t limit = 20;            ///< kernels per group; 0: all; baselines always show
  std::string sort_by;               ///< a column, or "-" and a column: descending; empty: rank
  std::vector<std::string> columns;  ///< of the database, or rank, tied; empty: the standard ones
  TextStyle style;
  /// Of a sweep: what did not run, which JSON has as "failures".
  std::optional<std::vector<FailureKind>> failures = {};
};

/// Writes rankings in one of the formats. The table format: a headed table per group, with the standard
/// columns rank, template, parameters, registers, occupancy and limiter, median_us with interval, tflops,
/// percent_of_baseline, percent_of_ceiling and bound (percent_of_peak where no ceiling was measured),
/// sustained_tflops and sustained_power_w; of rows that device memory bounds, gbs and percent_of_copy in
/// place of tflops, percent_of_ceiling and bound; without columns that are empty in all rows shown; a banner
/// when the source is not `measured`; under the standard columns what is known of the finals, ties, discarded
/// samples and the method's floor. JSON is one object {"tiletune": version, "failures" of a sweep, "groups":
/// [{gpu, problem, source,
/// conditions, total_rows, those facts, rows}]}; CSV one table of all groups, led by what makes rows
/// comparable. Throws UserError for unknown columns before anything is written. Strings that are not UTF-8
/// are repaired. The rows shown are read from the database they were ranked from, one at a time.
void write_rankings(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
                    Format format, const RankingView& view);
/// The steps of a config that asks for a ladder, in its order, or else its templates; none where it does not.
/// They refer to the database.
std::vector<LadderStep> ladder_steps(const std::string& config, const Database& database);
/// Of the first sweep whose config has some.
std::vector<LadderStep> ladder_steps(const Database& database);
/// The standard columns of a ladder: template, parameters, time, tflops, both speed-ups (ratios),
/// percent_of_baseline.
void write_ladders(std::ostream& out, const std::vector<Ladder>& ladders, const Database& database,
                   Format format, const TextStyle& style,
                   const std::optional<std::vector<FailureKind>>& failures = {});

/// The best kernel of each problem, a line each: template, parameters, time, tflops, the fastest baseline
/// with its time, percent_of_baseline, with how many others it is tied, and the noise floor of its finals;
/// under them the geometric mean of percent_of_baseline. A table per GPU, source and conditions; JSON lists
/// the tied ones.
void write_winners(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
                   Format format, const TextStyle& style);

/// Chosen columns of rows that need not have run, in order of insertion, at most `limit` (0: all). Tables
/// leave out columns that no row shown has a value for; JSON has all columns.
void write_trials(std::ostream& out, const Database& database, const TrialFilter& filter, Format format,
                  const std::vector<std::string>& columns, std::size_t limit, const TextStyle& style);

/// Brings groups that differ in scalars or in the state of the L2 cache only into the order of their newest
/// sweeps, the newest first: what a person has corrected comes before what it replaces. Groups of another
/// GPU, problem, source, operation, options or element types keep their places.
void newest_first(std::vector<RankingGroup>& groups, const Database& database);

/// "BM=128 BN=64", or "(baseline)".
std::string parameters_text(const Trial& trial);

/// The best configuration of each group as the JSON that `export --best` writes: schema, tool and version,
/// then per GPU and problem: template, parameters, kernel expression, launch, compile options, resources,
/// occupancy, timing, roofline, verification, baselines, provenance. The best is the first kernel of the
/// group; tied_with counts the others of its rank. Its text may hold broken UTF-8: dump with
/// error_handler_t::replace.
nlohmann::ordered_json best_as_json(const std::vector<RankingGroup>& groups, const Database& database);

/// The kernels of portfolios in the same way, each on the problem of its smallest regret, and behind them
/// "portfolios", which name the entries by their places. `groups` are those of all rows.
nlohmann::ordered_json portfolios_as_json(const std::vector<RecordedPortfolio>& portfolios,
                                          const std::vector<RankingGroup>& groups, const Database& database);

/// "ok 210, refused 12, compile_failed 3" in the outcomes' order; "nothing" when all are zero.
std::string outcome_summary(const std::vector<std::pair<Outcome, std::int64_t>>& counts);

}  // namespace tiletune
