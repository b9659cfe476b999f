#pragma once

// RapidJSON's stacks add to a null pointer as long as they are empty, which is harmless and a finding all the
// same.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/document.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#include <optional>
#include <string>
#include <string_view>

namespace tiletune {

/// A value of a file. An integer is one of 64 bits (IsInt64); other numbers are doubles.
using JsonValue = rapidjson::Value;

/// The first member of that name; null where this is not an object, or has none.
const JsonValue* find(const JsonValue& object, std::string_view name);
/// The text of a string, or of the name of a member.
std::string_view text(const JsonValue& string);
/// The text of that member, or nothing.
std::string_view text_of(const JsonValue& object, std::string_view name);
/// The number of that member.
std::optional<double> number_of(const JsonValue& object, std::string_view name);

/// The value as JSON text, in which a number is written as the rest of tiletune does: 1.0, not 1.
std::string to_json_text(const JsonValue& value);

}  // namespace tiletune
