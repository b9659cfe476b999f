#pragma once

#include <ostream>
#include <vector>

#include "output/applied_portfolio.h"
#include "output/export.h"
#include "output/table.h"

namespace tiletune {

/// Writes what portfolios come to on other problems. Tables: the choice for each problem, the kernels, and
/// lines with the median, the 90th percentile and the maximum of the regrets, and on what could not be
/// judged. JSON: one object {"tiletune", "applied": [...], "without_portfolio": [...]}; CSV: the choice for
/// each problem. Regrets are in percent.
void write_applied(std::ostream& out, const std::vector<AppliedPortfolio>& applied,
                   const std::vector<Comparable>& without, Format format, const TextStyle& style);

}  // namespace tiletune
