#pragma once

#include <string>
#include <vector>

#include "rank/ranking.h"

namespace tiletune {

/// Rows that ran and may be compared with each other, fastest first (then by key, so that the order is
/// fixed).
struct ComparableRows {
  std::string gpu;
  std::string problem;
  Source source = Source::measured;
  std::vector<Trial> kernels;
  std::vector<Trial> baselines;
};

/// In order of first appearance.
std::vector<ComparableRows> comparable_rows(const std::vector<Trial>& trials);

}  // namespace tiletune
