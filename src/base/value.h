#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tiletune {

/// What a parameter or an expression can be. Integers are 64-bit; arithmetic on them is checked.
using Value = std::variant<bool, std::int64_t, double, std::string>;

/// The value as it is written in a table or in C++ source: `true`, `128`, `0.5`, `float`.
std::string to_text(const Value& value);
/// "a boolean", "an integer", "a number", "a string".
const char* type_name(const Value& value);

nlohmann::ordered_json to_json(const Value& value);
/// The value of a JSON scalar. Returns false for null, arrays, objects and integers beyond int64.
bool from_json(const nlohmann::ordered_json& json, Value& out);

/// Names with their values, in the order in which the template declares them.
using NamedValues = std::vector<std::pair<std::string, Value>>;

nlohmann::ordered_json to_json(const NamedValues& values);
/// "BM=128 BN=64"
std::string to_text(const NamedValues& values);

}  // namespace tiletune
