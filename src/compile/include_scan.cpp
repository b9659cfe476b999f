#include "compile/include_scan.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"

namespace tiletune {

namespace {

/// The end of a string or character literal that begins at `at`; it never reaches past the line.
std::size_t end_of_literal(std::string_view line, std::size_t at) {
  const char quote = line[at];
  std::size_t i = at + 1;
  while (i < line.size() && line[i] != quote) i += line[i] == '\\' ? 2 : 1;
  return std::min(i + 1, line.size());
}

/// Whether a literal begins here: the ' in 1'000 separates digits.
bool begins_literal(std::string_view line, std::size_t at) {
  if (line[at] == '"') return true;
  return line[at] == '\'' && (at == 0 || std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0);
}

/// The line without comments; `in_comment` says whether a block comment is open before and after it.
std::string without_comments(std::string_view line, bool& in_comment) {
  std::string code;
  std::size_t i = 0;
  while (i < line.size()) {
    if (in_comment) {
      const std::size_t end = line.find("*/", i);
      if (end == std::string_view::npos) return code;
      in_comment = false;
      code += ' ';
      i = end + 2;
    } else if (line.substr(i, 2) == "//") {
      return code;
    } else if (line.substr(i, 2) == "/*") {
      in_comment = true;
      i += 2;
    } else {
      const std::size_t end = begins_literal(line, i) ? end_of_literal(line, i) : i + 1;
      code += line.substr(i, end - i);
      i = end;
    }
  }
  return code;
}

std::optional<std::string> included_name(std::string_view code) {
  constexpr std::string_view kInclude = "include";
  std::string_view rest = trim(code);
  if (!rest.starts_with('#')) return std::nullopt;
  rest = trim(rest.substr(1));
  if (!rest.starts_with(kInclude)) return std::nullopt;
  rest = trim(rest.substr(kInclude.size()));
  if (!rest.starts_with('"')) return std::nullopt;
  const std::size_t end = rest.find('"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(rest.substr(1, end - 1));
}

}  // namespace

std::vector<QuotedInclude> quoted_includes(std::string_view text) {
  std::vector<QuotedInclude> includes;
  bool in_comment = false;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ++line_number;
    if (auto name = included_name(without_comments(text.substr(0, end), in_comment))) {
      includes.push_back({std::move(*name), line_number});
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return includes;
}

}  // namespace tiletune
