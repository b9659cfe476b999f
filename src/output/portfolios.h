#pragma once

#include <ostream>
#include <vector>

#include "output/export.h"
#include "output/portfolio.h"

namespace tiletune {

/// Writes portfolios. Tables: the regrets of 1, 2, ... kernels, the kernels, their predicted times, the best
/// of them for each problem, and lines on problems that were not tuned and on what was not measured. JSON:
/// one object
/// {"tiletune", "portfolios": [...]}; CSV: the best of them for each problem. Regrets are in percent.
void write_portfolios(std::ostream& out, const std::vector<RecordedPortfolio>& portfolios,
                      const Database& database, Format format, const TextStyle& style);

}  // namespace tiletune
