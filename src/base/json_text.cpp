#include "base/json_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/printable.h"

namespace tiletune {

namespace {

std::string escaped(char32_t point, std::string_view escape) {
  if (point < 0x10000) return fmt::format("{}{:04x}", escape, static_cast<std::uint32_t>(point));
  const std::uint32_t above = point - 0x10000;  // a pair of surrogates
  return fmt::format("{0}{1:04x}{0}{2:04x}", escape, 0xD800 + (above >> 10U), 0xDC00 + (above & 0x3FFU));
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return with_escaped_controls(
      json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace), "\\u");
}

std::string with_escaped_controls(std::string_view json, std::string_view escape) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const DecodedCharacter next = decode_character(json);
    // Below 0x7F there are only the line breaks of the layout.
    if (next.point >= 0x7F && next.is_control()) {
      out += escaped(next.point, escape);
    } else {
      out += json.substr(0, next.bytes);
    }
    json.remove_prefix(next.bytes);
  }
  return out;
}

}  // namespace tiletune
