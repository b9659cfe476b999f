#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/identifier.h"
#include "space/parser.h"

namespace tiletune::space {
namespace {

/// Longer ones first: the first that matches is taken.
constexpr std::array<std::string_view, 33> kSymbols{
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">",
    "!",  "~",  "&",  "|",  "^",  "(",  ")",  ",",  "?",  ":",  "[", "]", "=", ".", ";", "$"};

class Lexer {
 public:
  explicit Lexer(const ExprText& text) : text_(text), rest_(text.text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    do {
      skip_space();
      tokens.push_back(next());
    } while (tokens.back().kind != Token::Kind::end);
    return tokens;
  }

 private:
  Token next() {
    if (rest_.empty()) return {Token::Kind::end, {offset(), offset()}, {}, {}};
    const char first = rest_.front();
    if (is_identifier_start(first)) return name();
    if (is_digit(first) || (first == '.' && rest_.size() > 1 && is_digit(rest_[1]))) return number();
    if (first == '"' || first == '\'') return string(first);
    for (const std::string_view symbol : kSymbols)
      if (rest_.substr(0, symbol.size()) == symbol) return take(Token::Kind::symbol, symbol.size());
    fail("unexpected character", "use names, numbers, strings in quotes and Python's operators");
  }

  Token name() {
    const auto* end = std::find_if_not(rest_.begin(), rest_.end(), is_identifier_part);
    return take(Token::Kind::name, static_cast<std::size_t>(end - rest_.begin()));
  }

  Token number() {
    const int base = base_of_number();
    const std::size_t length = base != 10 ? number_length(2, "") : number_length(0, "eE");
    const std::string_view written = rest_.substr(0, length);
    const bool integral = base != 10 || written.find_first_of(".eE") == std::string_view::npos;
    if (base == 10 && integral && written.size() > 1 && written.front() == '0')
      fail(fmt::format("number '{}' with a leading zero", written),
           "write it without leading zeros, or as 0x...");
    Value value = base != 10 ? parsed<std::int64_t>(written.substr(2), base)
                  : integral ? parsed<std::int64_t>(written, 10)
                             : parsed<double>(written, std::chars_format::general);
    Token token = take(Token::Kind::literal, length);
    token.literal = std::move(value);
    return token;
  }

  /// By its prefix: 0x, 0o or 0b, as in Python.
  int base_of_number() const {
    if (rest_.size() < 2 || rest_[0] != '0') return 10;
    const auto is = [letter = rest_[1]](char lower, char upper) {
      return letter == lower || letter == upper;
    };
    return is('x', 'X') ? 16 : is('o', 'O') ? 8 : is('b', 'B') ? 2 : 10;
  }

  /// Everything that can belong to a number, so that "12ab" is one malformed number.
  std::size_t number_length(std::size_t from, std::string_view exponents) const {
    std::size_t end = from;
    while (end < rest_.size()) {
      const char c = rest_[end];
      const bool sign =
          (c == '+' || c == '-') && end > 0 && exponents.find(rest_[end - 1]) != std::string_view::npos;
      if (!is_identifier_part(c) && c != '.' && !sign) break;
      ++end;
    }
    return end;
  }

  template <class Number, class Format>
  Value parsed(std::string_view digits, Format format) const {
    Number number{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, format);
    if (error == std::errc::result_out_of_range)
      fail(fmt::format("number '{}' does not fit 64 bits", digits), "integers go up to 2**63 - 1");
    if (error != std::errc{} || end != digits.data() + digits.size())
      fail(fmt::format("malformed number '{}'", digits),
           "write numbers as 128, 0x80, 0.5 or 1e-3, without a suffix");
    return number;
  }

  Token string(char quote) {
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("string without an end", fmt::format("close it with {}", quote));
    const std::string_view content = rest_.substr(1, end - 1);
    if (content.find('\\') != std::string_view::npos)
      fail("backslash in a string", "strings are taken as they are and have no escapes");
    Token token = take(Token::Kind::literal, end + 1);
    token.literal = std::string(content);
    return token;
  }

  Token take(Token::Kind kind, std::size_t length) {
    Token token{kind, {offset(), offset() + length}, rest_.substr(0, length), {}};
    rest_.remove_prefix(length);
    return token;
  }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  std::size_t offset() const { return text_.text.size() - rest_.size(); }

  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    syntax_error(text_, offset(), what, remedy);
  }

  const ExprText& text_;
  std::string_view rest_;
};

}  // namespace

std::vector<Token> tokenize(const ExprText& text) {
  if (text.text.size() > kMaxExpressionBytes)
    throw UserError(fmt::format("an expression of {} bytes", text.text.size()), text.where,
                    fmt::format("split it: an expression has at most {} bytes", kMaxExpressionBytes));
  return Lexer(text).run();
}

std::string quoted_at(const ExprText& text, std::size_t offset) {
  const auto is_character_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto before = std::string_view(text.text).substr(0, offset);
  const auto column = std::count_if(before.begin(), before.end(), is_character_start) + 1;
  return fmt::format("'{}' at column {}", text.text, column);
}

void syntax_error(const ExprText& text, std::size_t offset, const std::string& what,
                  const std::string& remedy) {
  throw UserError(fmt::format("{} in {}", what, quoted_at(text, offset)), text.where, remedy);
}

}  // namespace tiletune::space
