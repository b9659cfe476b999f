#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "rank/ranking.h"
#include "store/database.h"
#include "store/trial.h"

namespace tiletune {

/// All columns of a row; nulls for what is absent, JSON columns as JSON, no raw samples unless asked.
nlohmann::ordered_json to_json(const Trial& trial, bool with_samples = false);

/// Only the named columns.
nlohmann::ordered_json columns_json(const Trial& trial, std::initializer_list<const char*> names);

/// Adds the list of its sweeps to these: what `export` writes of a row that for_each_with_sweeps() gave.
nlohmann::ordered_json exported_row(const Trial& trial, bool with_samples);

/// What is recorded of a run of the sweep command; finished_at is null when it never ended.
nlohmann::ordered_json to_json(const SweepRecord& sweep);
nlohmann::ordered_json to_json(const CalibrationRecord& calibration);

/// Brings groups that differ in scalars or in the state of the L2 cache only into the order of their newest
/// sweeps, the newest first: what a person has corrected comes before what it replaces. Groups of another
/// GPU, problem, source, operation, options or element types keep their places.
void newest_first(std::vector<RankingGroup>& groups, const Database& database);

/// Adds to an entry of best.json what is known of the row beside the database.
using CompleteEntry = std::function<void(std::int64_t row, nlohmann::ordered_json& entry)>;

/// The best configuration of each group as the JSON that `export --best` writes: schema, tool and version,
/// then per GPU and problem: template, parameters, kernel expression, launch, compile options, resources,
/// occupancy, timing, roofline, verification, baselines, provenance. The best is the first kernel of the
/// group; tied_with counts the others of its rank. Its text may hold broken UTF-8: dump with
/// error_handler_t::replace.
nlohmann::ordered_json best_as_json(const std::vector<RankingGroup>& groups, const Database& database,
                                    const CompleteEntry& complete = {});

/// "ok 210, refused 12, compile_failed 3" in the outcomes' order; "nothing" when all are zero.
std::string outcome_summary(const std::vector<std::pair<Outcome, std::int64_t>>& counts);

/// What `export` is asked for beside its format.
struct ExportRequest {
  TrialFilter filter = {};
  bool samples = false;  ///< every raw sample, too
  /// Takes what whoever uses the result should know, a line each; not called when empty.
  std::function<void(const std::string&)> note = {};
  CompleteEntry complete = {};  ///< of best.json
};

/// All rows, the sweeps that made them and what was measured of GPUs as JSON, row by row.
void write_export(std::ostream& out, const Database& database, const ExportRequest& request);

/// All rows as T4 results, the format that autotuners exchange, row by row; each has all its columns in a
/// member "tiletune". Times are in microseconds. Throws UserError unless the kernels are of one GPU, problem,
/// template and source, which a T4 file says nothing of, and when they are predicted.
void write_t4(std::ostream& out, const Database& database, const ExportRequest& request);

/// The groups of the rows that are asked for, newest_first(). Notes those that differ in scalars only. Throws
/// NothingToDo where there are none.
std::vector<RankingGroup> groups_that_ran(const Database& database, const ExportRequest& request);

/// best_as_json() of groups_that_ran().
void write_best(std::ostream& out, const Database& database, const ExportRequest& request);

}  // namespace tiletune
