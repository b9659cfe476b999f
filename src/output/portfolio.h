#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "rank/portfolio.h"
#include "store/database.h"

namespace tiletune {

struct RecordedPortfolio {
  PortfolioGroup group;
  Portfolio portfolio;  ///< of at least one kernel
};

/// What templates say of the kernels of a table at its problems.
using FactsOfTable = std::function<KernelFacts(const PortfolioTable&)>;

/// One for each set of rows that may be compared over its problems. Throws NothingToDo if no row that ran
/// matches, and UserError if a held-out problem has no such row.
std::vector<RecordedPortfolio> recorded_portfolios(const Database& database, const TrialFilter& filter,
                                                   const PortfolioOptions& options,
                                                   const FactsOfTable& facts_of);

/// A kernel of a portfolio that has no row on a problem whose sizes it can run.
struct PortfolioGap {
  std::size_t kernel = 0;  ///< place in the portfolio
  std::size_t problem = 0;
};
std::vector<PortfolioGap> gaps_of(const RecordedPortfolio& recorded);

/// The fastest kernel on sizes that were tuned.
struct FastestKernelOn {
  std::vector<std::int64_t> sizes;
  std::size_t kernel = 0;  ///< place in the portfolio
  double time_us = 0;
};
/// Each sizes once: of problems that differ in leading dimensions only, that with dense matrices if there is
/// one.
std::vector<FastestKernelOn> fastest_kernels(const RecordedPortfolio& recorded);

}  // namespace tiletune
