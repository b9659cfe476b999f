#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rank/rows.h"
#include "rank/time_model.h"
#include "store/database.h"

// Few kernels for many problems. The regret of a kernel on a problem is its time / the time of the fastest
// kernel there - 1.

namespace tiletune {

/// Stands for the regret where no kernel of a set was measured: more than any set that has one.
inline constexpr double kUncoveredRegret = 1000;

struct PortfolioProblem {
  std::string label;
  std::vector<std::int64_t> sizes;  ///< of the operation's dimensions
  double best_us = 0;
};

struct PortfolioCell {
  std::size_t problem = 0;
  double regret = 0;
};

struct PortfolioKernel {
  std::vector<PortfolioCell> cells;         ///< of the problems where it was measured, each once
  std::int64_t row = 0;                     ///< id of its row on the problem with its smallest regret
  bool is_screened = false;                 ///< given up as slow wherever it was measured: never chosen
  std::vector<std::size_t> failed_on = {};  ///< problems where it did not run
};

/// What a portfolio is chosen from.
struct PortfolioTable {
  std::vector<std::string> dimensions;
  std::vector<PortfolioProblem> problems;
  std::vector<PortfolioKernel> kernels;
};

/// What is recorded of a kernel for the sizes of a problem.
struct KernelFacts {
  /// Whether its constraints hold; asked where it was not measured.
  std::function<bool(std::size_t kernel, std::size_t problem)> may_run;
  std::function<Waves(std::size_t kernel, std::size_t problem)> waves;
};

/// By kernel and problem: infinite where the kernel cannot run, not a number where it was not measured.
using RegretMatrix = std::vector<std::vector<double>>;

/// Chooses sets of 1, 2, ... up to `most` kernels for the problems that `training` marks. Each set adds to
/// the previous one the kernel that lowers the mean regret most; then it replaces single kernels as long as
/// that lowers it. So the mean regret falls from set to set. Among equal kernels, the first is taken; one
/// that failed on one of these problems never is. Ends earlier if no kernel lowers the mean regret.
std::vector<std::vector<std::size_t>> choose_kernels(const PortfolioTable& table, std::size_t most,
                                                     const std::vector<bool>& training);

/// Rows: the kernels, columns: all problems of the table.
RegretMatrix regrets_of(const PortfolioTable& table, const std::vector<std::size_t>& kernels,
                        const KernelFacts& facts);

/// Models of kernels that were measured on at least one training problem, from their times there.
std::vector<TimeModel> time_models(const PortfolioTable& table, const std::vector<std::size_t>& kernels,
                                   const std::vector<bool>& training, const KernelFacts& facts);

/// As many kernels as can be asked for.
inline constexpr std::size_t kLargestPortfolio = 1000;

struct PortfolioOptions {
  std::size_t most_kernels = 10;
  std::set<std::string> held_out = {};  ///< labels of problems that kernels and models are made without
};

/// What a portfolio comes to on a problem that it was made without.
struct UntunedProblem {
  std::size_t problem = 0;
  std::optional<std::size_t> kernel;  ///< the one with the shortest predicted time, by its place in the set
  /// Regret of `kernel`: infinite where no kernel can run, not a number where the chosen one did not.
  double regret = 0;
};

struct Portfolio {
  std::vector<std::vector<std::size_t>> sets;  ///< of 1, 2, ... kernels
  std::vector<std::size_t> kernels;            ///< the last of them
  std::vector<bool> training;                  ///< by problem: whether they were chosen for it
  RegretMatrix regrets;                        ///< regrets of `kernels`
  std::vector<TimeModel> models;               ///< models of `kernels`, for problems that were not tuned
  std::vector<UntunedProblem> untuned;         ///< the problems that were held out

  /// The kernel with the smallest regret on a problem, by its place; none where none was measured.
  std::optional<std::size_t> best_on(std::size_t problem) const;
};
Portfolio make_portfolio(const PortfolioTable& table, const PortfolioOptions& options,
                         const KernelFacts& facts);

/// For each problem the smallest regret of a set; infinite where none was measured.
std::vector<double> best_regrets(const PortfolioTable& table, const std::vector<std::size_t>& kernels);

/// The median is the middle value or the mean of the two in the middle; the 90th percentile is the value of
/// rank ceil(0.9 n).
struct RegretSummary {
  std::size_t problems = 0;    ///< with a regret
  std::size_t unmeasured = 0;  ///< whose choice was not measured
  double mean = 0;
  double median = 0;
  double percentile_90 = 0;
  double maximum = 0;
};
RegretSummary summarise_regrets(const std::vector<double>& regrets);

/// Problems that were worked on under the same conditions, on the same GPU.
struct PortfolioGroup {
  Comparable what;  ///< of the first of its problems
  PortfolioTable table;
};

/// In order of first appearance, of the rows that the filter passes. A kernel is a configuration with one
/// kernel expression and one list of compile options on all problems. Times are those by which rows rank
/// (rank/ranking.h); of what was screened out the few samples count, but a kernel's row is another where it
/// has one. Problems whose label does not list the sizes of dimensions are left out.
std::vector<PortfolioGroup> portfolio_groups(const Database& database, const TrialFilter& filter);

}  // namespace tiletune
