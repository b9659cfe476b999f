#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "search/random_source.h"
#include "search/strategy.h"

namespace tiletune::search {

/// By which lessons are kept: the smallest first.
inline double lesson_weight(double relative_time, double distance) { return relative_time * (1 + distance); }
/// The places of so many of the lessons that have these weights: a half of them are the first, the others are
/// drawn at random. All of them, in their order, where there are no more.
std::vector<std::size_t> kept_lessons(const std::vector<double>& weights, std::size_t most,
                                      RandomSource& random);
/// Keeps those alone.
void keep_lessons(std::vector<Lesson>& lessons, std::size_t most, RandomSource& random);

/// A lesson's configuration in the space of its template here; none where it is not valid.
std::optional<Choice> choice_of(const Lesson& lesson, const Space& space);

/// The most results of other problems that predictions follow from.
inline constexpr std::size_t kMostLessons = 150;

/// How well lessons order the times of a problem that they do not hold, as the strategy `surrogate` would
/// predict it before its first result: Spearman's rank correlation between predicted and known times, 1 for
/// the same order. `left_out` are of that problem. None for fewer than 3 of these, or without lessons.
std::optional<double> rank_correlation(const std::vector<SearchedSpace>& spaces, std::vector<Lesson> lessons,
                                       const std::vector<Lesson>& left_out);

}  // namespace tiletune::search
