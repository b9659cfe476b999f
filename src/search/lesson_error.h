#pragma once

#include <optional>
#include <vector>

#include "search/random_source.h"
#include "search/strategy.h"

namespace tiletune::search {

/// Keeps so many lessons: the fastest half, of near problems first, and some of the others at random.
void keep_lessons(std::vector<Lesson>& lessons, std::size_t most, RandomSource& random);

/// The most results of other problems that predictions follow from.
inline constexpr std::size_t kMostLessons = 150;

/// How well lessons order the times of a problem that they do not hold, as the strategy `surrogate` would
/// predict it before its first result: Spearman's rank correlation between predicted and known times, 1 for
/// the same order. `left_out` are of that problem. None for fewer than 3 of these, or without lessons.
std::optional<double> rank_correlation(const std::vector<SearchedSpace>& spaces, std::vector<Lesson> lessons,
                                       const std::vector<Lesson>& left_out);

}  // namespace tiletune::search
