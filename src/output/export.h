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

#include "output/portfolio.h"
#include "rank/portfolio.h"
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

/// What `export` is asked for beside its format.
struct ExportRequest {
  TrialFilter filter = {};
  bool samples = false;         ///< every raw sample, too
  std::string name_space = {};  ///< of C++; empty: the format's own
  std::optional<PortfolioOptions> portfolio =
      {};  ///< few kernels for all problems instead of the best of each
  /// Takes what whoever uses the result should know, a line each; not called when empty.
  std::function<void(const std::string&)> note = {};
};

/// One format of `export`.
struct ExportFormat {
  const char* name;  ///< of --format
  const char* help;
  bool is_best;  ///< lists the best configurations only; where another of its name does not, only for --best
  bool takes_samples;     ///< whether --samples may be given
  bool takes_name_space;  ///< whether --namespace may be given
  /// Throws UserError or NothingToDo before anything is written.
  void (*write)(std::ostream& out, const Database& database, const ExportRequest& request);
};

/// "json: every column; t4: ...", for --help.
std::string export_formats_help();
/// The first of that name, with `best` one that lists the best only. Throws UserError where there is none.
const ExportFormat& find_export_format(const std::string& name, bool best);

/// All rows, the sweeps that made them and what was measured of GPUs as JSON, row by row.
void write_export(std::ostream& out, const Database& database, const ExportRequest& request);

/// All rows as T4 results, the format that autotuners exchange, row by row; each has all its columns in a
/// member "tiletune". Times are in microseconds. Throws UserError unless the kernels are of one GPU, problem,
/// template and source, which a T4 file says nothing of, and when they are predicted.
void write_t4(std::ostream& out, const Database& database, const ExportRequest& request);

/// best_as_json() and best_as_header() of all groups that ran, newest_first(), or what portfolio they ask
/// for. They note entries that differ in scalars only. Throw NothingToDo where there are none.
void write_best(std::ostream& out, const Database& database, const ExportRequest& request);
void write_header(std::ostream& out, const Database& database, const ExportRequest& request);

inline constexpr const char* kHeaderNamespace = "tiletune_best";

/// Throws UserError unless the text names a namespace, such as "sizes" or "tuned::sizes".
void check_header_namespace(const std::string& text);

/// The best configuration of each group as a C++17 header of its own: in the namespace, the table `kEntries`,
/// and `find()`, which answers at compile time too and says how far it fell back. Headers of different
/// content never stand for one another: in one program each has its own, in one file the compiler refuses to
/// choose. Whatever text the rows hold appears in escaped string literals alone. Of entries that fit a query
/// equally `find()` takes the one of the earlier group. An entry has one launch: the best configurations that
/// have several are left out and passed to `note`; throws UserError where no other is there.
std::string best_as_header(const std::vector<RankingGroup>& groups, const Database& database,
                           const std::string& name_space = kHeaderNamespace,
                           const std::function<void(const std::string&)>& note = {});

/// The kernels of portfolios in the same way, each once with the problem of its smallest regret, with
/// `choose()`, which takes the fastest one of a tuned problem, and else the one with the shortest predicted
/// time.
std::string portfolios_as_header(const std::vector<RecordedPortfolio>& portfolios, const Database& database,
                                 const std::string& name_space = kHeaderNamespace,
                                 const std::function<void(const std::string&)>& note = {});

/// A C++ string literal of the bytes of a text, quotes included: printable ASCII, and octal escapes.
std::string cpp_literal(const std::string& text);

}  // namespace tiletune
