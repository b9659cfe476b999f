#pragma once

#include <vector>

#include "rank/rows.h"

namespace tiletune {

/// Rows whose ids are their places.
inline RankingRows ranking_rows_of(const std::vector<Trial>& trials) {
  RankingRows rows;
  for (std::size_t i = 0; i < trials.size(); ++i) rows.add(static_cast<std::int64_t>(i), trials[i]);
  return rows;
}

}  // namespace tiletune
