#pragma once

#include <vector>

#include "rank/portfolio.h"
#include "rank/rows.h"
#include "store/database.h"

namespace tiletune {

/// Problems that were worked on under the same conditions, on the same GPU.
struct PortfolioGroup {
  Comparable what;  ///< of the first of its problems
  PortfolioTable table;
};

enum class FailedKernels {
  left_out,  ///< a kernel that failed on a problem of the group is none
  kept,      ///< it is one, with its failures, even where it ran on none
};

/// In order of first appearance, of the rows that the filter passes. A kernel is a configuration with one
/// kernel expression and one list of compile options on all problems. Times are those by which rows rank
/// (rank/ranking.h); of what was screened out the few samples count, but a kernel's row is another where it
/// has one. Problems whose label does not list the sizes of dimensions are left out.
std::vector<PortfolioGroup> portfolio_groups(const Database& database, const TrialFilter& filter,
                                             FailedKernels failed = FailedKernels::left_out);

}  // namespace tiletune
