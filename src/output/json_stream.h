#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

namespace tiletune {

/// A JSON document whose last member is an array that may be too long for memory: laid out as nlohmann's
/// dump(indent) lays out the whole, written element by element. Text that is not UTF-8 is repaired.
class JsonArrayStream {
 public:
  /// `envelope` is the document with an empty array as its last member.
  JsonArrayStream(std::ostream& out, const nlohmann::ordered_json& envelope, int indent);
  /// `envelope` becomes the next element of another stream's array, which must wait until this one ends.
  JsonArrayStream(JsonArrayStream& outer, const nlohmann::ordered_json& envelope);

  void add(const nlohmann::ordered_json& element);
  /// Closes the array and what it lies in.
  void end();

 private:
  void begin(const nlohmann::ordered_json& envelope);
  void begin_element();
  std::string spaces(int levels) const;
  std::string indented(const std::string& text, int levels) const;

  std::ostream& out_;
  int indent_;
  int depth_ = 0;  ///< levels around the envelope
  bool empty_ = true;
  std::string rest_;  ///< of the envelope, after the array
};

}  // namespace tiletune
