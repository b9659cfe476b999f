#pragma once

#include <string_view>

namespace tiletune {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_identifier_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_identifier_part(char c) { return is_identifier_start(c) || is_digit(c); }

/// A C identifier, keywords included.
constexpr bool is_identifier(std::string_view text) {
  if (text.empty() || !is_identifier_start(text.front())) return false;
  for (const char c : text)
    if (!is_identifier_part(c)) return false;
  return true;
}

}  // namespace tiletune
