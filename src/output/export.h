#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "rank/ranking.h"
#include "store/trial.h"

namespace tiletune {

enum class Format { table, json, csv, markdown };
/// Throws UserError with the known formats.
Format format_from_name(const std::string& name);

/// What every output says of rows whose time was not measured on that GPU in this database; empty for
/// measured ones.
std::string source_banner(Source source, const std::string& gpu);

/// All columns of a row; nulls for what is absent, JSON columns as JSON, no raw samples unless asked.
nlohmann::ordered_json to_json(const Trial& trial, bool with_samples = false);

struct RankingView {
  std::size_t limit = 20;            ///< rows per group; 0: all
  std::string sort_by;               ///< a column; empty: rank
  std::vector<std::string> columns;  ///< empty: the standard ones
  bool colour = false;
};

/// Writes rankings in one of the formats. The table format: a headed table per group, with the standard
/// columns rank, template, parameters, registers, occupancy and limiter, median_us with interval, tflops,
/// percent_of_baseline, percent_of_peak; a banner when the source is not `measured`. JSON is one object
/// {"tiletune": version, "groups": [{gpu, problem, source, conditions, total_rows, rows}]}; CSV one table of
/// all groups, led by what makes rows comparable. Throws UserError for unknown columns. Strings that are no
/// UTF-8 are repaired.
void write_rankings(std::ostream& out, const std::vector<RankingGroup>& groups, Format format,
                    const RankingView& view);
/// The standard columns of a ladder: template, parameters, time, tflops, both speed-ups (ratios),
/// percent_of_baseline.
void write_ladders(std::ostream& out, const std::vector<Ladder>& ladders, Format format, bool colour);

/// Chosen columns of rows that need not have run, in the order given, at most `limit` (0: all); JSON has all
/// columns.
void write_trials(std::ostream& out, const std::vector<Trial>& trials, Format format,
                  const std::vector<std::string>& columns, std::size_t limit);

/// "BM=128 BN=64", or "(baseline)".
std::string parameters_text(const Trial& trial);

/// The best configuration of each group as the JSON that `export --best` writes: schema, tool and version,
/// then per GPU and problem: template, parameters, kernel expression, launch, compile options, resources,
/// occupancy, median, percent of baseline, provenance.
nlohmann::ordered_json best_as_json(const std::vector<RankingGroup>& groups,
                                    const std::vector<SweepRecord>& sweeps);

/// "ok 210, refused 12, compile_failed 3" in the outcomes' order; "nothing" when all are zero.
std::string outcome_summary(const std::vector<std::pair<Outcome, std::int64_t>>& counts);

}  // namespace tiletune
