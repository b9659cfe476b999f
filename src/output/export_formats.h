#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>

#include "rank/portfolio.h"
#include "store/database.h"

namespace tiletune {

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
/// member "tiletune", so that importing the file gives the same rows. Times are in microseconds. Throws
/// UserError unless the kernels are of one GPU, problem, template and source, which a T4 file says nothing
/// of, and when they are predicted.
void write_t4(std::ostream& out, const Database& database, const ExportRequest& request);

/// best_as_json() and best_as_header() of all groups that ran, newest_first(), or what portfolio they ask
/// for. They note entries that differ in scalars only. Throw NothingToDo where there are none.
void write_best(std::ostream& out, const Database& database, const ExportRequest& request);
void write_header(std::ostream& out, const Database& database, const ExportRequest& request);

}  // namespace tiletune
