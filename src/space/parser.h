#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"
#include "space/operators.h"
#include "spec/tune_spec.h"

namespace tiletune::space {

/// Whether it is a word of the expressions themselves, which no name may be.
bool is_reserved(std::string_view name);

/// Names an expression may use; each has a slot, numbered from 0 in order of declaration.
class SymbolTable {
 public:
  /// Declares a name and returns its slot. Throws UserError when it is taken, reserved (an operator or
  /// constant of the language) or no identifier; `where` is for the message.
  int declare(const std::string& name, const Where& where);
  std::optional<int> find(std::string_view name) const;
  /// Tells whoever uses `name` where it is not declared what to do instead.
  void withhold(const std::string& name, const std::string& remedy) { withheld_.emplace_back(name, remedy); }
  /// That remedy; none for names that are merely unknown.
  std::optional<std::string> withheld(std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }
  int size() const { return static_cast<int>(names_.size()); }

 private:
  std::vector<std::string> names_;
  std::vector<std::pair<std::string, std::string>> withheld_;  ///< names and remedies
};

/// Part of an expression's text: bytes [begin, end).
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

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

/// Parses an expression of the one small language used in constraints, derived values, launch geometry and
/// sizes.
///
/// Literals: integers (also 0x.., 0o.., 0b..), floats, true/false (True/False), 'strings' or "strings"
/// (without escapes). Operators, loosest first: `a if c else b` and `c ? a : b`; `or ||`; `and &&`; `not`;
/// comparisons `== != < <= > >=`, which chain (`64 <= THREADS <= 512`), and `x in (1, 2)`, `x not in (..)`;
/// `|`; `^`; `&`; `<< >>`; `+ -`; `* / // %`; unary `- + ~ !`; `**`. As in Python, and unlike C,
/// `a & 1 == b` compares `a & 1`; `!` binds as tightly as in C. `/` is true division; `//` and `%` round
/// towards minus infinity as in Python. Functions: min, max (also of one list), abs, int, float, bool, pow,
/// ceil_div, round_up, is_pow2, log2 (of powers of two only, exact), gcd, lcm, size (bytes of an element of a
/// type).
///
/// Integer arithmetic is 64-bit and checked; a float that is not finite is an overflow. As in Python, true
/// and false count as 1 and 0 in arithmetic, in order comparisons and in `true == 1`; | ^ & of two bools is a
/// bool, every other arithmetic result is a number. `and` and `or` yield the operand that decides, `&&` and
/// `||` a bool; all evaluate the right operand only when the left one does not decide, and a conditional
/// evaluates only the branch taken. A string equals only an equal string, is ordered only among strings, and
/// takes part in no arithmetic.
///
/// Throws UserError naming the expression, the position in it and, for unknown names, the nearest known one.
SyntaxNode parse(const ExprText& text, const SymbolTable& symbols);

}  // namespace tiletune::space
