#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "rank/portfolio.h"
#include "store/database.h"

namespace tiletune {

struct RecordedPortfolio {
  PortfolioGroup group;
  Portfolio portfolio;  ///< of at least one kernel
};

/// One for each set of rows that may be compared over its problems. Whether a kernel can run where it was not
/// measured is what its recorded conditions say, which hold where they are not known; its waves are the
/// recorded ones. Throws NothingToDo if no row that ran matches, and UserError if a held-out problem has no
/// such row.
std::vector<RecordedPortfolio> recorded_portfolios(const Database& database, const TrialFilter& filter,
                                                   const PortfolioOptions& options);

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
};
/// Each sizes once: of problems that differ in leading dimensions only, that with dense matrices if there is
/// one.
std::vector<FastestKernelOn> fastest_kernels(const RecordedPortfolio& recorded);

/// {"gpu", "source", "conditions", "dimensions", "kernels", "times", "fastest"}, where `entries` stand for
/// the kernels. "times" has a list of terms for each: {"us", "launch", "sizes"}, a coefficient times the
/// waves of a launch and sizes, where these are named; null where nothing predicts it. "tuned" has for each
/// problem its "sizes" and the "kernel" that was the fastest.
nlohmann::ordered_json to_json(const RecordedPortfolio& recorded, const std::vector<std::size_t>& entries);

}  // namespace tiletune
