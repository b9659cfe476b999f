#pragma once

#include <vector>

#include "rank/compare.h"
#include "rank/row_joins.h"

namespace tiletune {

/// Fills in what follows from the rows that sides have of one problem; a side without it has a null.
void compare_rows(const std::vector<const ComparableRows*>& sides, const ParameterTable& parameters,
                  ComparedProblem& problem);

}  // namespace tiletune
