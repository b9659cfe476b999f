#include "output/json_stream.h"

#include <nlohmann/json.hpp>

#include "base/printable.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

JsonArrayStream::JsonArrayStream(std::ostream& out, const Json& envelope, int indent)
    : out_(out), indent_(indent) {
  begin(envelope);
}

JsonArrayStream::JsonArrayStream(JsonArrayStream& outer, const Json& envelope)
    : out_(outer.out_), indent_(outer.indent_), depth_(outer.depth_ + 2) {
  outer.begin_element();
  begin(envelope);
}

void JsonArrayStream::begin(const Json& envelope) {
  const std::string text = indented(json_text(envelope, indent_), depth_);
  const std::size_t array = text.rfind("[]");
  out_ << text.substr(0, array + 1);
  rest_ = text.substr(array + 1);
}

void JsonArrayStream::begin_element() {
  out_ << (empty_ ? "\n" : ",\n") << spaces(depth_ + 2);
  empty_ = false;
}

void JsonArrayStream::add(const Json& element) {
  begin_element();
  out_ << indented(json_text(element, indent_), depth_ + 2);
}

void JsonArrayStream::end() {
  if (!empty_) out_ << '\n' << spaces(depth_ + 1);
  out_ << rest_;
}

std::string JsonArrayStream::spaces(int levels) const {
  std::string text(static_cast<std::size_t>(levels) * static_cast<std::size_t>(indent_), ' ');
  return text;
}

/// Line breaks lie between members only: within strings they are escaped.
std::string JsonArrayStream::indented(const std::string& text, int levels) const {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += spaces(levels);
  }
  return out;
}

}  // namespace tiletune
