#pragma once

#include <vector>

#include "base/value.h"
#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// More values than this in one parameter are taken for a mistake.
inline constexpr std::size_t kMostValues = 100000;

/// A parameter's values. Throws UserError when there are none or too many, when two are equal (1 and 1.0
/// are), when they are not all booleans, all numbers or all strings, or when a string is longer than
/// kLongestName.
std::vector<Value> read_values(const JsonNode& node);

/// The values that a config gives for `parameter`: some of those listed, or any of their type when `extend`
/// is true.
std::vector<Value> read_narrowed_values(const JsonNode& node, const Parameter& parameter, bool extend);

}  // namespace tiletune
