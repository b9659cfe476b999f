#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "rank/compare.h"

namespace tiletune {

/// Fills in what follows from the rows that sides have of one problem; a side without it has a null.
void compare_rows(const std::vector<const ComparableRows*>& sides, ComparedProblem& problem);

/// Pennycook's metric of performance portability over a set of platforms: their number by the sum of the
/// reciprocal efficiencies, which is the harmonic mean; 0 when the configuration does not run on one of them.
/// An efficiency is the best known time on a platform by the configuration's own (S. J. Pennycook, J. D.
/// Sewall, V. W. Lee: Implications of a metric for performance portability, Future Generation Computer
/// Systems 92 (2019), 947-958). None without platforms.
std::optional<double> pennycook(std::span<const double> efficiencies);

/// How many of the first 1%: at least one of any.
std::size_t top_percent(std::size_t count);
/// How many places are among the `top` smallest of both lists. Where several values are equal to the last of
/// them, each counts as the fraction of these that there is room for.
double shared_of_smallest(std::span<const double> a, std::span<const double> b, std::size_t top);

}  // namespace tiletune
