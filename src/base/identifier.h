#pragma once

#include <string>
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

/// "scale" of "foo::scale".
std::string_view unqualified(std::string_view name);

/// Whether it is identifiers joined by "::".
bool is_qualified_name(std::string_view text);

/// What a variable is called in a binary: "_ZN3foo5scaleE" of "foo::scale", "scale" of "scale".
std::string symbol_of_variable(std::string_view name);

/// The name in the source of such a symbol; another text stays as it is.
std::string variable_of_symbol(std::string_view symbol);

}  // namespace tiletune
