#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rank/rows.h"
#include "rank/time_model.h"
#include "store/database.h"
#include "store/trial.h"

// A portfolio that `export --best --portfolio` has written, on the problems of another database.

namespace tiletune {

struct ExportedPortfolio {
  std::string gpu;
  Source source = Source::measured;
  std::string conditions;
  std::vector<std::string> dimensions;
  /// Template, parameters, expression, compile options, size conditions, waves, element types, options and
  /// scalars.
  std::vector<Trial> kernels;
  std::vector<TimeModel> models;                           ///< models of the kernels
  std::map<std::vector<std::int64_t>, std::size_t> tuned;  ///< by sizes, the fastest kernel's place

  /// The kernel that was the fastest on these sizes, unless its conditions are violated; or else, of those
  /// whose conditions hold, the one with the shortest predicted time. None where none holds.
  std::optional<std::size_t> choice(const std::vector<std::int64_t>& sizes) const;
};

/// At least one. Throws UserError with the place of what is not as `export` writes it.
std::vector<ExportedPortfolio> read_exported_portfolios(const std::filesystem::path& file);

enum class Applied {
  judged,      ///< the chosen kernel was measured
  unmeasured,  ///< it has no row
  failed,      ///< it did not run
  none,        ///< no kernel's constraints hold
};

struct AppliedProblem {
  std::string label;
  double best_us = 0;              ///< of all configurations that were measured there
  std::size_t configurations = 0;  ///< how many these are
  Applied applied = Applied::none;
  std::optional<std::size_t> kernel = {};  ///< that is chosen
  /// Regret of `kernel`; not a number where it is not judged.
  double regret = std::numeric_limits<double>::quiet_NaN();
  /// The portfolio's least regret; not a number where none ran.
  double least_regret = std::numeric_limits<double>::quiet_NaN();
  std::string outcome = {};  ///< of a failed one
};

/// The problems of a database that have what a portfolio is for.
struct AppliedPortfolio {
  Comparable what;  ///< of the first of the problems
  ExportedPortfolio portfolio;
  std::vector<AppliedProblem> problems;
};

/// For each set of rows that may be compared over its problems, the portfolio of its conditions and
/// dimensions: of the same GPU and source where there is one. Kernels are equal by template, parameters,
/// expression and compile options, but for the GPU architecture among them. Sets without a portfolio are left
/// out, and listed in `without`. Throws UserError where that leaves none.
std::vector<AppliedPortfolio> apply_portfolios(const std::vector<ExportedPortfolio>& portfolios,
                                               const std::filesystem::path& file, const Database& database,
                                               const TrialFilter& filter, std::vector<Comparable>& without);

}  // namespace tiletune
