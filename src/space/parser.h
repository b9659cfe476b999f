#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "space/expression.h"
#include "space/operators.h"
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

inline constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

/// A function of the language, known by the parenthesis behind its name, which may be a parameter's, too.
struct Function {
  std::string_view name;
  Op op;
  std::size_t fewest;  ///< arguments
  std::size_t most;
};
inline constexpr std::array<Function, 14> kFunctions{{{"min", Op::min, 2, kAny},
                                                      {"max", Op::max, 2, kAny},
                                                      {"abs", Op::abs, 1, 1},
                                                      {"ceil_div", Op::ceil_div, 2, 2},
                                                      {"round_up", Op::round_up, 2, 2},
                                                      {"is_pow2", Op::is_pow2, 1, 1},
                                                      {"log2", Op::log2, 1, 1},
                                                      {"gcd", Op::gcd, 2, kAny},
                                                      {"lcm", Op::lcm, 2, kAny},
                                                      {"int", Op::to_integer, 1, 1},
                                                      {"float", Op::to_number, 1, 1},
                                                      {"bool", Op::truth, 1, 1},
                                                      {"pow", Op::power, 2, 2},
                                                      {"size", Op::type_size, 1, 1}}};

struct Spelling {
  std::string_view text;
  Op op;
};
inline constexpr std::array<Spelling, 6> kComparisons{{{"==", Op::equal},
                                                       {"!=", Op::not_equal},
                                                       {"<", Op::less},
                                                       {"<=", Op::less_equal},
                                                       {">", Op::greater},
                                                       {">=", Op::greater_equal}}};

/// Operators that associate from the left, each with how tightly it binds.
struct Infix {
  std::string_view text;
  Op op;
  int level;
};
inline constexpr int kTightest = 5;
inline constexpr std::array<Infix, 11> kInfix{{{"|", Op::bit_or, 0},
                                               {"^", Op::bit_xor, 1},
                                               {"&", Op::bit_and, 2},
                                               {"<<", Op::shift_left, 3},
                                               {">>", Op::shift_right, 3},
                                               {"+", Op::add, 4},
                                               {"-", Op::subtract, 4},
                                               {"*", Op::multiply, 5},
                                               {"/", Op::divide, 5},
                                               {"//", Op::floor_divide, 5},
                                               {"%", Op::modulo, 5}}};
inline constexpr std::array<Spelling, 4> kPrefix{
    {{"-", Op::negate}, {"+", Op::plus}, {"~", Op::bit_not}, {"!", Op::logical_not}}};

/// Words that are not names: operators and constants in both spellings.
inline constexpr std::array<std::string_view, 10> kKeywords{"and",  "or",   "not",  "in",    "if",
                                                            "else", "true", "True", "false", "False"};

inline const Function* find_function(std::string_view name) {
  const auto* found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                   [&](const Function& function) { return function.name == name; });
  return found == kFunctions.end() ? nullptr : found;
}

inline bool is_reserved(std::string_view name) {
  return std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end();
}

/// A parsed expression or part of one.
struct SyntaxNode {
  Op op = Op::constant;
  Value constant;                    ///< of Op::constant
  int slot = -1;                     ///< of Op::load
  std::vector<Op> comparisons;       ///< of Op::comparison_chain: one fewer than operands
  std::vector<SyntaxNode> operands;  ///< of Op::conditional: condition, value if true, value if false
  Span span;                         ///< with the parentheses around it
  std::size_t position = 0;          ///< of the operator
};

/// Parses an expression; the grammar is expression.h's. Throws UserError.
SyntaxNode parse(const ExprText& text, const SymbolTable& symbols);

}  // namespace tiletune::space
