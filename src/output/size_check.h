#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tiletune {

/// Translates a number or a condition over dimensions (space/parser.h) to a C++ expression of the type Value,
/// such as ceil_div(n[0], 128LL). It uses the functions of best_header.h.in and an array `n` of the sizes, in
/// the order of `dimensions`. None if the expression uses functions or operators that the header lacks, or
/// names that are not dimensions.
std::optional<std::string> cpp_number(const std::string& expression,
                                      const std::vector<std::string>& dimensions);

/// Whether a condition is seen to hold for any sizes, such as "K == K", "K % 1 == 0" and "K <= 128 or true".
bool holds_always(const std::string& condition, const std::vector<std::string>& dimensions);

/// Whether sizes satisfy the conditions that a row has recorded (its column size_conditions). None where
/// these are not all known. A condition that cannot be evaluated does not hold.
std::optional<bool> satisfy(const std::vector<std::int64_t>& sizes, const std::string& size_conditions,
                            const std::vector<std::string>& dimensions);

/// The waves that a row has recorded (its column waves), for sizes; empty where they are not all known.
std::vector<double> waves_at(const std::vector<std::int64_t>& sizes, const std::string& waves,
                             const std::vector<std::string>& dimensions);

}  // namespace tiletune
