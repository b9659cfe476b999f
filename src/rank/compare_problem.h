#pragma once

#include <vector>

#include "rank/compare.h"

namespace tiletune {

/// Fills in what follows from the rows that sides have of one problem; a side without it has a null.
void compare_rows(const std::vector<const ComparableRows*>& sides, ComparedProblem& problem);

}  // namespace tiletune
