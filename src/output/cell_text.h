#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
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
/// As parsed_cell(); an empty object where that is none.
nlohmann::ordered_json object_of(const std::string& text);
/// As parsed_cell(); null where that is discarded.
nlohmann::ordered_json parsed_or_null(const std::string& text);
/// Null for none.
template <typename Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}
/// JSON columns as JSON (as a string where the text is none), samples as an array, null as null.
nlohmann::ordered_json json_of(const Cell& cell, CellType type);

/// A JSON document whose last member is an array that may be too long for memory: laid out as nlohmann's
/// dump(indent) lays out the whole, written element by element. Text that is not UTF-8 is repaired.
class JsonArrayStream {
 public:
  /// `envelope` is the document; its last member is an empty array. `level` is its nesting depth.
  JsonArrayStream(std::ostream& out, const nlohmann::ordered_json& envelope, int indent, int level = 0);
  /// Begins `envelope` as the array's next element. Add no other element before the nested stream ends.
  JsonArrayStream nested(const nlohmann::ordered_json& envelope);

  void add(const nlohmann::ordered_json& element);
  /// Closes the array and what it lies in.
  void end();

 private:
  void begin_element();
  std::string spaces(int levels) const {
    return std::string().append(std::size_t(levels) * std::size_t(indent_), ' ');
  }
  std::string indented(const nlohmann::ordered_json& json, int levels) const;

  std::ostream& out_;
  int indent_;
  int level_;
  bool empty_ = true;
  std::string rest_;  ///< of the envelope, after the array
};

}  // namespace tiletune
