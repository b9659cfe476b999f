#pragma once

#include <string>
#include <vector>

#include "rank/compare.h"
#include "rank/databases.h"

namespace tiletune {

/// What is to be compared.
struct ComparedRows {
  CompareBy by = CompareBy::gpu;
  TrialFilter filter;                       ///< of rows; baselines do not count whatever it says
  std::vector<std::string> names;           ///< of sides (SideRows::take); none: all
  std::vector<std::string> database_names;  ///< in the order of the databases
};

/// Reads the rows and compares them. With fewer than two sides nothing is compared, and the comparison says
/// which sides there are. Throws UserError for the name of a side that no row has.
Comparison compare_databases(const Databases& databases, const ComparedRows& rows, const GpuAlias& alias);

}  // namespace tiletune
