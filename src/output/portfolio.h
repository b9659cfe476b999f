#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "output/fields.h"
#include "rank/portfolio.h"
#include "rank/rows.h"
#include "rank/time_model.h"
#include "store/database.h"
#include "store/trial.h"

namespace tiletune {

/// "0.53"; "-" for what is not a finite number.
std::string percent_text(double percent);
/// Regrets in percent, null if not finite. `unmeasured` is the name of the member that counts the nulls.
nlohmann::ordered_json to_json(const RegretSummary& summary, const char* unmeasured);
/// Puts the columns of the chosen kernel between `first` and `last`: for people its number, from 1; for
/// programs its place; in CSV also template and parameters.
std::vector<ViewColumn> with_chosen_kernel(std::vector<ViewColumn> first,
                                           const std::vector<ViewColumn>& last);

/// The kernels of a portfolio, and on how many problems each is chosen: `choices` has each problem's kernel,
/// by its place, or none.
TextTable chosen_kernels_table(const std::vector<Trial>& kernels,
                               const std::vector<std::optional<std::size_t>>& choices);

struct RecordedPortfolio {
  PortfolioGroup group;
  Portfolio portfolio;  ///< of at least one kernel
};

/// One for each set of rows that may be compared over its problems. Whether a kernel can run where it was not
/// measured is what its recorded conditions say, which hold where they are not known; its waves are the
/// recorded ones. Throws NothingToDo where
/// no row that ran matches.
std::vector<RecordedPortfolio> recorded_portfolios(const Database& database, const TrialFilter& filter,
                                                   const PortfolioOptions& options);

/// A kernel of a portfolio that was not measured on a problem whose sizes it can run.
struct PortfolioGap {
  std::size_t kernel = 0;  ///< place in the portfolio
  std::size_t problem = 0;
};
std::vector<PortfolioGap> gaps_of(const Portfolio& portfolio);

/// The fastest kernel on sizes that were tuned.
struct FastestKernelOn {
  std::vector<std::int64_t> sizes;
  std::size_t kernel = 0;  ///< place in the portfolio
};
/// Each sizes once: of problems that differ in leading dimensions only, that with dense matrices if there is
/// one.
std::vector<FastestKernelOn> fastest_kernels(const RecordedPortfolio& recorded);

/// {"gpu", "source", "conditions", "dimensions", "kernels", "times", "fastest"}, where `entries` stand for
/// the kernels. "times" has a list of terms for each: {"us", "launch", "sizes"}, a coefficient times the
/// waves of a launch and sizes, where these are named; null where nothing predicts it. "tuned" has for each
/// problem its "sizes" and the "kernel" that was the fastest.
nlohmann::ordered_json to_json(const RecordedPortfolio& recorded, const std::vector<std::size_t>& entries);

// A portfolio that `export --best --portfolio` has written, on the problems of another database.

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

struct AppliedProblem {
  std::string label;
  double best_us = 0;                      ///< of all configurations that were measured there
  std::size_t configurations = 0;          ///< how many these are
  std::optional<std::size_t> kernel = {};  ///< the chosen one; none if no kernel's constraints hold
  /// Regret of `kernel`; NaN if it was not measured.
  double regret = std::numeric_limits<double>::quiet_NaN();
  /// The least regret of the portfolio's kernels; NaN if none ran.
  double least_regret = std::numeric_limits<double>::quiet_NaN();
  std::string outcome = {};  ///< of `kernel` if it did not run; empty if it has no row

  /// "measured"; "not_measured" if the kernel has no row; its outcome if it failed; or "no_kernel".
  std::string result() const;
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
