#include "output/cell_text.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "base/text.h"
#include "base/value.h"
#include "store/samples.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// {"BM":128,"VEC":true} as "BM=128 VEC=true", ["a","b"] as "a b".
std::string flat_text(const std::string& text) {
  const Json json = parsed_cell(text);
  if (!json.is_structured()) return text;
  std::string flat;
  for (const auto& item : json.items()) {
    if (!flat.empty()) flat += ' ';
    if (json.is_object()) flat += item.key() + "=";
    flat += value_text(item.value());
  }
  return flat;
}

}  // namespace

std::string value_text(const Json& json) {
  Value value;
  return from_json(json, value) ? to_text(value) : json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parsed_cell(const std::string& text) {
  constexpr std::ptrdiff_t kMostBrackets = 1000, kMostColons = 10000;
  const auto count = [&](char c) { return std::count(text.begin(), text.end(), c); };
  const bool modest = count('[') + count('{') <= kMostBrackets && count(':') <= kMostColons;
  return Json::parse(modest ? text : "", nullptr, false);
}

Json object_of(const std::string& text) {
  Json parsed = parsed_cell(text);
  return parsed.is_object() ? parsed : Json::object();
}

Json parsed_or_null(const std::string& text) {
  Json parsed = parsed_cell(text);
  return parsed.is_discarded() ? Json() : parsed;
}

std::string exact_text(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&cell))
    return std::isfinite(*real) ? fmt::format("{}", *real) : "";
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* blob = std::get_if<Blob>(&cell))
    return fmt::format("{}", fmt::join(unpack_samples(*blob), " "));
  return "";
}

std::string human_text(const Cell& cell, CellType type) {
  if (std::holds_alternative<std::monostate>(cell)) return "-";
  if (const auto* real = std::get_if<double>(&cell)) return three_digits(*real);
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return exact_text(cell);
  const std::string readable = type == CellType::json ? flat_text(*text) : *text;
  return readable.empty() ? "-" : readable;
}

Json json_of(const Cell& cell, CellType type) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* real = std::get_if<double>(&cell)) return std::isfinite(*real) ? Json(*real) : Json();
  if (const auto* blob = std::get_if<Blob>(&cell)) return unpack_samples(*blob);
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return nullptr;
  if (type != CellType::json) return *text;
  Json parsed = parsed_cell(*text);
  return parsed.is_discarded() ? Json(*text) : parsed;
}

JsonArrayStream::JsonArrayStream(std::ostream& out, const Json& envelope, int indent, int level)
    : out_(out), indent_(indent), level_(level) {
  const std::string text = indented(envelope, level_);
  const std::size_t array = text.rfind("[]") + 1;
  out_ << text.substr(0, array);
  rest_ = text.substr(array);
}

JsonArrayStream JsonArrayStream::nested(const Json& envelope) {
  begin_element();
  return {out_, envelope, indent_, level_ + 2};
}

void JsonArrayStream::begin_element() {
  out_ << (empty_ ? "\n" : ",\n") << spaces(level_ + 2);
  empty_ = false;
}

void JsonArrayStream::add(const Json& element) {
  begin_element();
  out_ << indented(element, level_ + 2);
}

void JsonArrayStream::end() {
  if (!empty_) out_ << '\n' << spaces(level_ + 1);
  out_ << rest_;
}

/// Line breaks lie between members only: within strings they are escaped.
std::string JsonArrayStream::indented(const Json& json, int levels) const {
  const std::array line_breaks{Replacement{"\n", "\n" + spaces(levels)}};
  return replaced(json_text(json, indent_), line_breaks);
}

}  // namespace tiletune
