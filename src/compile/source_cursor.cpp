#include "compile/source_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace tiletune {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_raw_prefix(const std::string& identifier) {
  static const std::array<std::string_view, 5> prefixes{"R", "u8R", "uR", "UR", "LR"};
  return std::find(prefixes.begin(), prefixes.end(), identifier) != prefixes.end();
}

}  // namespace

bool begins_identifier(char c) { return c == '_' || (is_alphanumeric(c) && !is_digit(c)); }
bool continues_identifier(char c) { return c == '_' || is_alphanumeric(c); }

void SourceCursor::refuse(const std::string& what, const std::string& remedy) const {
  throw UserError(what, Where{file_, fmt::format("line {}", line_)}, remedy);
}

void SourceCursor::join_lines() {
  while (text_.substr(at_, 2) == "\\\n") {
    at_ += 2;
    ++line_;
  }
}

bool SourceCursor::at_end() {
  join_lines();
  return at_ >= text_.size();
}

char SourceCursor::peek() { return at_end() ? '\0' : text_[at_]; }

char SourceCursor::peek_second() {
  if (at_end()) return '\0';
  std::size_t next = at_ + 1;
  while (text_.substr(next, 2) == "\\\n") next += 2;
  return next < text_.size() ? text_[next] : '\0';
}

char SourceCursor::take() {
  last_ = peek();
  if (at_ < text_.size()) ++at_;
  if (last_ == '\n') ++line_;
  return last_;
}

bool SourceCursor::take_if(std::string_view characters) {
  if (peek() != characters[0] || (characters.size() == 2 && peek_second() != characters[1])) return false;
  for (std::size_t i = 0; i < characters.size(); ++i) take();
  return true;
}

void SourceCursor::skip_space() {
  while (true) {
    if (is_blank(peek())) {
      take();
    } else if (take_if("//")) {
      skip_line_comment();
    } else if (take_if("/*")) {
      skip_block_comment();
    } else {
      return;
    }
  }
}

void SourceCursor::skip_line_comment() {
  while (!at_end() && peek() != '\n') take();
}

void SourceCursor::skip_block_comment() {
  while (!at_end() && !take_if("*/")) take();
}

std::string SourceCursor::take_identifier() {
  std::string identifier;
  if (!begins_identifier(peek())) return identifier;
  const bool glued = last_ == '$' || static_cast<unsigned char>(last_) >= 0x80;
  while (continues_identifier(peek())) identifier += take();
  if (glued && is_raw_prefix(identifier) && peek() == '"') {
    refuse("a raw string begins right after a character that some compilers take for a letter",
           "Put a space between the two.");
  }
  return identifier;
}

bool SourceCursor::skip_token() {
  const char c = peek();
  if (c == '"' || c == '\'') {
    skip_literal(take());
  } else if (is_digit(c) || (c == '.' && is_digit(peek_second()))) {
    return skip_number();
  } else {
    take();
  }
  return false;
}

void SourceCursor::skip_prefixed_literal(const std::string& identifier) {
  if (peek() != '"') return;
  if (is_raw_prefix(identifier)) {
    skip_raw_literal();
  } else {
    skip_literal(take());
  }
}

/// Up to the closing quote; without one, the line ends the literal.
void SourceCursor::skip_literal(char quote) {
  while (!at_end() && peek() != '\n') {
    const char c = take();
    if (c == quote) return skip_suffix();
    if (c == '\\' && peek() != '\n') take();
  }
}

/// The R of "a"R"(b)" is the first literal's suffix, so that the second is not raw.
void SourceCursor::skip_suffix() {
  if (!begins_identifier(peek())) return;
  while (continues_identifier(peek())) take();
}

/// R"delimiter( ... )delimiter", in which nothing is special, the joining of lines included.
void SourceCursor::skip_raw_literal() {
  constexpr std::size_t kLongestDelimiter = 16;
  take();
  const std::size_t open = text_.find('(', at_);
  const std::string_view delimiter = text_.substr(at_, open - at_);
  const bool valid = open != std::string_view::npos && delimiter.size() <= kLongestDelimiter &&
                     delimiter.find_first_of(" )\\\t\v\f\n\"") == std::string_view::npos;
  const std::string closing = fmt::format("){}\"", delimiter);
  const std::size_t end = valid ? text_.find(closing, open) : std::string_view::npos;
  if (end == std::string_view::npos) {
    refuse("a raw string has no valid delimiter or no end", "Write it as R\"( ... )\".");
  }
  line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                               text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
  at_ = end + closing.size();
  last_ = '"';
  skip_suffix();
}

/// A preprocessing number of C++14 and later, in which an apostrophe separates digits.
bool SourceCursor::skip_number() {
  bool separated = false;
  while (true) {
    const char c = peek();
    if (c == '\'') {
      separated = true;
      if (!is_alphanumeric(last_) || !continues_identifier(peek_second()))
        refuse("an apostrophe stands in a number but separates no digits",
               "Put a space between the number and the character literal.");
    } else if (c == '+' || c == '-') {
      if (std::string_view("eEpP").find(last_) == std::string_view::npos) return separated;
    } else if (!continues_identifier(c) && c != '.') {
      return separated;
    }
    take();
  }
}

bool SourceCursor::take_until(char end, std::string& text) {
  while (!at_end() && peek() != '\n') {
    const char c = take();
    if (c == end) return true;
    text += c;
  }
  return false;
}

}  // namespace tiletune
