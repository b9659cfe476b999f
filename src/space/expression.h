#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Names an expression may use; each has a slot, numbered from 0 in order of declaration.
class SymbolTable {
 public:
  /// Declares a name and returns its slot. Throws UserError when it is taken, reserved (an operator or
  /// constant of the language) or no identifier; `where` is for the message.
  int declare(const std::string& name, const Where& where);
  std::optional<int> find(std::string_view name) const;
  /// Tells whoever uses `name` where it is not declared what to do instead.
  void withhold(const std::string& name, const std::string& remedy);
  /// That remedy; none for names that are merely unknown.
  std::optional<std::string> withheld(std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }
  int size() const { return static_cast<int>(names_.size()); }

 private:
  std::vector<std::string> names_;
  std::vector<std::pair<std::string, std::string>> withheld_;  ///< names and remedies
};

/// A parsed expression of the one small language used in constraints, derived values, launch geometry and
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
class Expression {
 public:
  /// Parses. Throws UserError naming the expression, the position in it and, for unknown names, the nearest
  /// known one.
  Expression(const ExprText& text, const SymbolTable& symbols);
  ~Expression();
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;

  /// Evaluates with the values of all slots it uses. Throws UserError naming the expression, the position and
  /// the values involved: division by zero, overflow, operand types.
  Value evaluate(std::span<const Value> slots) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiletune
