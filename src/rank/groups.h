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
  std::string conditions;  ///< see conditions_of()
  std::vector<Trial> kernels;
  std::vector<Trial> baselines;
};

/// What else must be equal for times to be comparable: "gemm, A:f32 B:f32 C:f32 accumulator:f32, alpha=1
/// beta=0, cold".
std::string conditions_of(const Trial& trial);

/// In order of first appearance, those without a kernel that ran left out. Of rows with the same template and
/// parameters in one group only the latest counts: the others were made from a source, compiler or policy
/// that has changed since.
std::vector<ComparableRows> comparable_rows(const std::vector<Trial>& trials);

}  // namespace tiletune
