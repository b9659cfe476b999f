#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tiletune {

/// The C++ expression of the type Value that computes a number or a condition over dimensions
/// (space/parser.h) with the functions of best_header.h.in, from an array `n` of their sizes in this
/// order: ceil_div(n[0], 128LL). None for what has none: functions and operators that the header lacks, names
/// that are not dimensions.
std::optional<std::string> cpp_number(const std::string& expression,
                                      const std::vector<std::string>& dimensions);

/// Whether a condition compares sizes with themselves alone, such as "(K == K)", and so holds for any.
bool holds_always(const std::string& condition, const std::vector<std::string>& dimensions);

/// Whether sizes satisfy the conditions that a row has recorded (its column size_conditions). None where
/// these are not all known. A condition that cannot be evaluated does not hold.
std::optional<bool> satisfy(const std::vector<std::int64_t>& sizes, const std::string& size_conditions,
                            const std::vector<std::string>& dimensions);

/// The waves that a row has recorded (its column waves), for sizes; empty where they are not all known.
std::vector<double> waves_at(const std::vector<std::int64_t>& sizes, const std::string& waves,
                             const std::vector<std::string>& dimensions);

}  // namespace tiletune
