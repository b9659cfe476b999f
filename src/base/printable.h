#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace tiletune {

/// Code points of Unicode, both ends included.
struct CharacterRange {
  char32_t first, last;
};
bool is_in(std::span<const CharacterRange> ranges, char32_t point);

/// One character of a UTF-8 text.
struct DecodedCharacter {
  static constexpr char32_t kInvalid = 0xFFFFFFFF;

  char32_t point = kInvalid;
  std::size_t bytes = 1;

  /// Whether a terminal or a browser may obey it: controls, and what reorders text or cannot be seen.
  bool is_control() const;
};

/// The character at the beginning of a text that is not empty. A byte that begins none is kInvalid and one
/// byte long; overlong forms and surrogates count as such.
DecodedCharacter decode_character(std::string_view text);

/// The text on one line and harmless to a terminal: white space becomes a space; other control characters,
/// those that reorder text or cannot be seen, and bytes that are not valid UTF-8 become '?'. Names and
/// compiler logs come from files of other people.
std::string printable(std::string_view text);

/// What a process printed, as rows keep it: each line as printable() makes it, without white space at
/// its ends; of more than 4 KiB the beginning, and "...".
std::string printed_text(std::string_view raw);

/// JSON for files and terminals, on one line or with `indent` spaces per level. Text that is not UTF-8 is
/// repaired, and control characters as of DecodedCharacter::is_control() are escaped, so that no name of
/// somebody else's commands a terminal.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

/// JSON text with `escape` and four hexadecimal digits for each of those control characters: "\\u" is JSON's
/// own, read back as the character; "\\\\u" is read back as the text of an escape.
std::string with_escaped_controls(std::string_view json, std::string_view escape);

}  // namespace tiletune
