#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

/// The known name nearest to a misspelt one by edit distance; none when all are far
/// (more than a third of the letters, at least 1, at most 3 edits), and none for an option of one letter,
/// "-x", which is near to every other.
std::optional<std::string> nearest(std::string_view misspelt, std::span<const std::string> known);

/// " Did you mean 'x'?" or, when nothing is near, " Known: a, b, c." (at most 12 names; empty when none).
std::string suggestion(std::string_view misspelt, std::span<const std::string> known);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
/// "a, b and 3 more": the first eight.
std::string first_of(std::span<const std::string> words);

/// A mark of a template, and the text that takes its place.
struct Replacement {
  std::string_view mark;
  std::string text;
};
/// The template with each mark replaced. What takes a mark's place is not searched for marks.
std::string replaced(std::string_view text, std::span<const Replacement> replacements);

std::string_view trim(std::string_view text);
/// The text as a number, read by std::from_chars(); none unless the whole text is one.
template <typename Number>
std::optional<Number> parsed_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}
/// Lower case, letters and digits only: how GPU names are compared.
std::string squashed(std::string_view text);

/// Whether `part` is one or several whole words of `name`, one behind the other, compared as squashed() has
/// them: "H100 80GB" and "a100-sxm4" are, and "L4" is not one of "NVIDIA L40S". A name of more than 1,000
/// bytes, which no GPU has, has no words.
bool has_words(std::string_view name, std::string_view part);

/// "1 problem", "2 problems".
std::string counted(std::uint64_t number, std::string_view what);

/// The word as a POSIX shell reads it back.
std::string shell_quoted(const std::string& word);

/// "12.3 KiB", "80.0 GiB".
std::string human_bytes(std::uint64_t bytes);
/// "512MiB", "1.5 GiB": a number and KiB, MiB, GiB or TiB, at least one byte and below 1024 TiB; none for
/// anything else.
std::optional<std::uint64_t> bytes_from_text(std::string_view text);
/// "60s", "1.5 min", "2h": a number above 0 and s, min or h, at most a year; none for anything else.
std::optional<double> seconds_from_text(std::string_view text);
/// "850 ms", "12.3 s", "4 min 05 s", "2 h 03 min".
std::string human_seconds(double seconds);
/// Three significant digits, with an exponent only from 10^9: 1234 -> "1234", 0.01234 -> "0.0123".
std::string three_digits(double value);

}  // namespace tiletune
