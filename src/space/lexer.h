#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "spec/tune_spec.h"

namespace tiletune::space {

/// Part of an expression's text: bytes [begin, end).
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Token {
  enum class Kind { end, literal, name, symbol };

  Kind kind = Kind::end;
  Span span;
  std::string_view text;  ///< as written
  Value literal;          ///< of a literal
};

/// Longest expression; it bounds the depth of what is built from one.
inline constexpr std::size_t kMaxExpressionBytes = 8192;

/// Splits an expression; the last token is the end. Throws UserError for what is not a token. The tokens
/// refer to `text`.
std::vector<Token> tokenize(const ExprText& text);

/// "'BM % 0' at column 6": columns count characters, from 1.
std::string quoted_at(const ExprText& text, std::size_t offset);

/// Throws UserError "<what> in '<expression>' at column <n>".
[[noreturn]] void syntax_error(const ExprText& text, std::size_t offset, const std::string& what,
                               const std::string& remedy);

}  // namespace tiletune::space
