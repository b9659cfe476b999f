#include "draft/tokens.h"

#include <algorithm>
#include <array>

#include "base/identifier.h"

namespace tiletune {

namespace {

/// Those of more than one character that the reader of sources needs whole. Longer ones first.
constexpr std::array<std::string_view, 21> kOperators{
    "<<=", ">>=", "...", "==", "!=", "<=", ">=", "&&", "||", "++", "--",
    "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "->", "::"};

class SourceTokenizer {
 public:
  explicit SourceTokenizer(std::string_view text) : rest_(text) {}

  TokenizedSource run() {
    while (!rest_.empty()) step();
    std::erase_if(result_.directives, [](const SourceTokens& directive) { return directive.empty(); });
    return std::move(result_);
  }

 private:
  void step() {
    const char first = rest_.front();
    if (rest_.starts_with("//")) return skip_line_comment();
    if (rest_.starts_with("/*")) return skip(end_of("*/", 2));
    if (rest_.starts_with("\\\n") || rest_.starts_with("\\\r\n")) return skip(rest_.find('\n') + 1);
    if (first == '\n') {
      in_directive_ = false;
      starts_line_ = true;
      return skip(1);
    }
    if (first == '#' && starts_line_) {
      in_directive_ = true;
      starts_line_ = false;
      result_.directives.emplace_back();
      return skip(1);
    }
    if (first == ' ' || first == '\t' || first == '\r') return skip(1);
    starts_line_ = false;
    if (rest_.starts_with("R\"")) return skip_raw_string();
    if (first == '"' || first == '\'') return skip_string(first);
    add();
  }

  void add() {
    const bool number =
        is_digit(rest_.front()) || (rest_.front() == '.' && rest_.size() > 1 && is_digit(rest_[1]));
    std::size_t length = 1;
    if (number) {
      const auto* end = std::find_if_not(
          rest_.begin(), rest_.end(), [](char c) { return is_identifier_part(c) || c == '.' || c == '\''; });
      length = static_cast<std::size_t>(end - rest_.begin());
    } else if (is_identifier_start(rest_.front())) {
      const auto* end = std::find_if_not(rest_.begin(), rest_.end(), is_identifier_part);
      length = static_cast<std::size_t>(end - rest_.begin());
    } else {
      for (const std::string_view symbol : kOperators)
        if (length == 1 && rest_.starts_with(symbol)) length = symbol.size();
    }
    const auto kind = number                               ? SourceToken::Kind::number
                      : is_identifier_start(rest_.front()) ? SourceToken::Kind::name
                                                           : SourceToken::Kind::symbol;
    SourceTokens& tokens = in_directive_ ? result_.directives.back() : result_.code;
    tokens.push_back({kind, rest_.substr(0, length), line_});
    skip(length);
  }

  /// A backslash at its end continues it.
  void skip_line_comment() {
    std::size_t end = rest_.find('\n');
    while (end != std::string_view::npos && end > 0 && rest_[end - 1] == '\\')
      end = rest_.find('\n', end + 1);
    skip(std::min(end, rest_.size()));
  }

  /// One that is not closed ends with its line.
  void skip_string(char quote) {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote && rest_[end] != '\n') end += rest_[end] == '\\' ? 2 : 1;
    skip(std::min(end + (end < rest_.size() && rest_[end] == quote ? 1 : 0), rest_.size()));
  }

  void skip_raw_string() {
    const std::size_t open = rest_.find_first_of("(\n");
    if (open == std::string_view::npos || rest_[open] == '\n') return skip(2);
    const std::string close = ")" + std::string(rest_.substr(2, open - 2)) + "\"";
    skip(end_of(close, open));
  }

  std::size_t end_of(std::string_view mark, std::size_t from) const {
    const std::size_t at = rest_.find(mark, from);
    return at == std::string_view::npos ? rest_.size() : at + mark.size();
  }

  void skip(std::size_t length) {
    line_ += static_cast<int>(
        std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
    rest_.remove_prefix(length);
  }

  std::string_view rest_;
  TokenizedSource result_;
  int line_ = 1;
  bool in_directive_ = false;
  bool starts_line_ = true;
};

}  // namespace

TokenizedSource tokenize_source(std::string_view text) { return SourceTokenizer(text).run(); }

std::size_t behind_bracket(const SourceTokens& tokens, std::size_t open, std::size_t end) {
  const bool angled = tokens[open].is("<");
  std::size_t depth = 0;
  for (std::size_t i = open; i < end; ++i) {
    const std::string_view text = tokens[i].text;
    if (text == "(" || text == "[" || text == "{" || (angled && text == "<")) ++depth;
    if (text == ")" || text == "]" || text == "}" || (angled && text == ">")) --depth;
    if (depth == 0) return i + 1;
  }
  return end;
}

}  // namespace tiletune
