#pragma once

#include <cstdint>
#include <string>

#include "base/value.h"

namespace tiletune::space {

/// A Value without ownership: what the evaluator works on. A string belongs to whoever made the scalar.
/// Trivial on purpose, so that an array of them costs nothing to create.
struct Scalar {
  enum class Kind : std::uint8_t { unset, boolean, integer, number, string };

  Kind kind;
  union {
    std::int64_t integer;  ///< also of a boolean, as 0 or 1
    double number;
    const std::string* string;
  };

  bool is_string() const { return kind == Kind::string; }
  /// A boolean counts as the integer 0 or 1.
  bool is_integral() const { return kind == Kind::integer || kind == Kind::boolean; }
  bool is_numeric() const { return is_integral() || kind == Kind::number; }
  double as_number() const { return kind == Kind::number ? number : static_cast<double>(integer); }
};

Scalar unset_scalar();
Scalar boolean_scalar(bool value);
Scalar integer_scalar(std::int64_t value);
Scalar number_scalar(double value);

/// Borrows a string's text from `value`.
Scalar to_scalar(const Value& value);
Value to_value(const Scalar& scalar);

/// A C++ literal: `true`, `128`, `0.5`, `2.0` (a floating-point value always looks like one and keeps all its
/// digits). Strings are returned as they are.
std::string cpp_text(const Scalar& scalar);

/// False for false, 0, 0.0 and "".
bool is_true(const Scalar& scalar);

/// What a node of a parsed expression or an instruction of a program does.
enum class Op : std::uint8_t {
  constant,
  load,
  // two operands
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  bit_or,
  bit_xor,
  bit_and,
  shift_left,
  shift_right,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  min,
  max,
  ceil_div,
  round_up,
  gcd,
  lcm,
  // one operand
  negate,
  plus,
  bit_not,
  logical_not,
  abs,
  to_integer,
  to_number,
  is_pow2,
  log2,
  type_size,
  truth,
  // of a parsed expression only: a program has jumps for them
  logical_and,
  logical_or,
  conditional,
  comparison_chain,
  in_list,
  not_in_list,
  // of a program only
  jump,
  jump_if_false,  ///< takes the condition off the stack
  keep_if_false,  ///< jumps and leaves the condition on the stack, or takes it off
  keep_if_true,
  compare_or_jump,  ///< compares; when true, leaves the right operand for the next comparison of the chain
  equals_any,       ///< (x, found, element) becomes (x, found or x == element)
  drop_below,       ///< (x, found) becomes (found)
};

/// Why an operation has no result.
enum class FaultKind : std::uint8_t {
  none,
  unbound_name,
  division_by_zero,
  integer_overflow,
  number_overflow,
  needs_number,
  needs_integer,
  not_comparable,
  negative_shift,
  no_power_of_two,
  fractional_power,
  no_element_type,
};

/// Whether the values of names decide on this one; else their types do.
bool is_arithmetic(FaultKind kind);

/// Integers, booleans and numbers compare by value, exactly; a string equals only strings.
bool equals(const Scalar& left, const Scalar& right);

/// Applies an operator of two operands as Python does, on checked 64-bit integers. `result` may be an
/// operand.
FaultKind apply(Op op, const Scalar& left, const Scalar& right, Scalar& result);
/// Applies an operator of one operand.
FaultKind apply(Op op, const Scalar& operand, Scalar& result);

}  // namespace tiletune::space
