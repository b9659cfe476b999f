#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "rank/compare.h"
#include "rank/joined_rows.h"

namespace tiletune {

/// Fills in what follows from the rows that sides have of one problem; a side without it has a null.
void compare_rows(const std::vector<const ComparableRows*>& sides,
                  const std::function<Identity(const RankingRow&)>& identity,
                  const std::function<bool(std::size_t side, std::int64_t id)>& is_screened,
                  ComparedProblem& problem);

}  // namespace tiletune
