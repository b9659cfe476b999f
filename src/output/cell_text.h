#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "store/columns.h"

namespace tiletune {

/// For machines: numbers with all their digits, JSON as it is stored, samples separated by spaces, null as
/// "".
std::string exact_text(const Cell& cell);
/// For people: reals with three significant digits, {"BM":128} as BM=128, what is absent or empty as "-".
std::string human_text(const Cell& cell, CellType type);
/// A parameter's value as a table and C++ source have it, text without quotes.
std::string value_text(const nlohmann::ordered_json& value);
/// The JSON that a cell's text is; discarded when it is none, or more than a row of tiletune's has: what is
/// nested without end would exhaust the stack when it is written.
nlohmann::ordered_json parsed_cell(const std::string& text);
/// As parsed_cell(); null where that is discarded.
nlohmann::ordered_json parsed_or_null(const std::string& text);
/// Null for none.
template <typename Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}
/// JSON columns as JSON (as a string where the text is none), samples as an array, null as null.
nlohmann::ordered_json json_of(const Cell& cell, CellType type);

}  // namespace tiletune
