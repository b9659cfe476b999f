#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tiletune {

/// JSON for files and terminals, on one line or with `indent` spaces per level. Text that is not UTF-8 is
/// repaired, and control characters as of DecodedCharacter::is_control() are escaped, so that no name of
/// somebody else's commands a terminal.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

/// JSON text with `escape` and four hexadecimal digits for each of those control characters: "\\u" is JSON's
/// own, read back as the character; "\\\\u" is read back as the text of an escape.
std::string with_escaped_controls(std::string_view json, std::string_view escape);

}  // namespace tiletune
