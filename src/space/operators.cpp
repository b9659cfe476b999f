#include "space/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>

#include "spec/element_type.h"

namespace tiletune::space {
namespace {

template <class T>
FaultKind done(std::type_identity_t<T> value, T& result) {
  result = value;
  return FaultKind::none;
}

constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

FaultKind when(bool overflow) { return overflow ? FaultKind::integer_overflow : FaultKind::none; }

/// The quotient is rounded towards minus infinity; the remainder has the divisor's sign.
FaultKind floor_divide(std::int64_t left, std::int64_t right, std::int64_t& quotient,
                       std::int64_t& remainder) {
  if (right == 0) return FaultKind::division_by_zero;
  if (left == kSmallest && right == -1) return FaultKind::integer_overflow;
  quotient = left / right;
  remainder = left % right;
  if (remainder != 0 && (remainder < 0) != (right < 0)) {
    --quotient;
    remainder += right;
  }
  return FaultKind::none;
}

FaultKind greatest_common_divisor(std::int64_t left, std::int64_t right, std::int64_t& result) {
  if (left == kSmallest || right == kSmallest) return FaultKind::integer_overflow;
  return done(std::gcd(left, right), result);
}

FaultKind power(std::int64_t base, std::int64_t exponent, std::int64_t& result) {
  std::int64_t product = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(product, base, &product))
      return FaultKind::integer_overflow;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return FaultKind::integer_overflow;
  }
  return done(product, result);
}

FaultKind shift_left(std::int64_t value, std::int64_t count, std::int64_t& result) {
  if (count < 0) return FaultKind::negative_shift;
  if (value == 0) return done(0, result);
  if (count > 63) return FaultKind::integer_overflow;
  result = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << count);
  return when((result >> count) != value);
}

FaultKind shift_right(std::int64_t value, std::int64_t count, std::int64_t& result) {
  if (count < 0) return FaultKind::negative_shift;
  return done(value >> (count > 63 ? 63 : count), result);
}

FaultKind ceil_divide(std::int64_t left, std::int64_t right, std::int64_t& result) {
  std::int64_t remainder = 0;
  const FaultKind fault = floor_divide(left, right, result, remainder);
  if (fault == FaultKind::none && remainder != 0) ++result;
  return fault;
}

FaultKind round_up(std::int64_t value, std::int64_t step, std::int64_t& result) {
  const FaultKind fault = ceil_divide(value, step, result);
  return fault != FaultKind::none ? fault : when(__builtin_mul_overflow(result, step, &result));
}

FaultKind lcm(std::int64_t left, std::int64_t right, std::int64_t& result) {
  std::int64_t divisor = 0;
  const FaultKind fault = greatest_common_divisor(left, right, divisor);
  if (fault != FaultKind::none) return fault;
  if (divisor == 0) return done(0, result);
  std::int64_t product = 0;
  if (__builtin_mul_overflow(left / divisor, right, &product) || product == kSmallest)
    return FaultKind::integer_overflow;
  return done(product < 0 ? -product : product, result);
}

FaultKind compute(Op op, std::int64_t left, std::int64_t right, std::int64_t& result) {
  std::int64_t other = 0;
  switch (op) {
    case Op::add:
      return when(__builtin_add_overflow(left, right, &result));
    case Op::subtract:
      return when(__builtin_sub_overflow(left, right, &result));
    case Op::multiply:
      return when(__builtin_mul_overflow(left, right, &result));
    case Op::floor_divide:
      return floor_divide(left, right, result, other);
    case Op::modulo:
      if (right == -1) return done(0, result);  // even of the smallest integer
      return floor_divide(left, right, other, result);
    case Op::power:
      return power(left, right, result);
    case Op::bit_or:
      return done(left | right, result);
    case Op::bit_xor:
      return done(left ^ right, result);
    case Op::bit_and:
      return done(left & right, result);
    case Op::shift_left:
      return shift_left(left, right, result);
    case Op::shift_right:
      return shift_right(left, right, result);
    case Op::ceil_div:
      return ceil_divide(left, right, result);
    case Op::round_up:
      return round_up(left, right, result);
    case Op::gcd:
      return greatest_common_divisor(left, right, result);
    default:
      return lcm(left, right, result);
  }
}

/// Applies an operator of two operands to checked 64-bit integers; a fault leaves `result` alone.
FaultKind apply_integers(Op op, std::int64_t left, std::int64_t right, Scalar& result) {
  std::int64_t value = 0;
  const FaultKind fault = compute(op, left, right, value);
  if (fault == FaultKind::none) result = integer_scalar(value);
  return fault;
}

FaultKind finite(double value, Scalar& result) {
  return std::isfinite(value) ? done(number_scalar(value), result) : FaultKind::number_overflow;
}

/// Exact for every pair: long double holds all 64-bit integers and all doubles.
long double exact(const Scalar& scalar) {
  return scalar.kind == Scalar::Kind::number ? static_cast<long double>(scalar.number)
                                             : static_cast<long double>(scalar.integer);
}

std::partial_ordering order(const Scalar& left, const Scalar& right) {
  if (left.is_string()) return left.string->compare(*right.string) <=> 0;
  if (left.is_integral() && right.is_integral()) return left.integer <=> right.integer;
  return exact(left) <=> exact(right);
}

/// CPython's float_divmod: the remainder is exact and has the divisor's sign, the quotient is integral.
void divide_floor(double left, double right, double& quotient, double& remainder) {
  remainder = std::fmod(left, right);
  quotient = (left - remainder) / right;
  if (remainder != 0 && (remainder < 0) != (right < 0)) {
    remainder += right;
    quotient -= 1;
  } else if (remainder == 0) {
    remainder = std::copysign(0.0, right);
  }
  const double whole = std::floor(quotient);
  quotient = quotient - whole > 0.5 ? whole + 1 : whole;
}

FaultKind number_arithmetic(Op op, double left, double right, Scalar& result) {
  if (op == Op::add) return finite(left + right, result);
  if (op == Op::subtract) return finite(left - right, result);
  if (op == Op::multiply) return finite(left * right, result);
  if (op == Op::power) {
    if (left == 0 && right < 0) return FaultKind::division_by_zero;
    if (left < 0 && right != std::floor(right)) return FaultKind::fractional_power;
    return finite(std::pow(left, right), result);
  }
  if (right == 0) return FaultKind::division_by_zero;
  if (op == Op::divide) return finite(left / right, result);
  double quotient = 0;
  double remainder = 0;
  divide_floor(left, right, quotient, remainder);
  return finite(op == Op::modulo ? remainder : quotient, result);
}

FaultKind arithmetic(Op op, const Scalar& left, const Scalar& right, Scalar& result) {
  if (!left.is_numeric() || !right.is_numeric()) return FaultKind::needs_number;
  const bool integers = left.is_integral() && right.is_integral();
  const bool to_number = op == Op::divide || (op == Op::power && integers && right.integer < 0);
  if (integers && !to_number) return apply_integers(op, left.integer, right.integer, result);
  return number_arithmetic(op, left.as_number(), right.as_number(), result);
}

FaultKind integers_only(Op op, const Scalar& left, const Scalar& right, Scalar& result) {
  if (!left.is_integral() || !right.is_integral()) return FaultKind::needs_integer;
  const bool bits = op == Op::bit_or || op == Op::bit_xor || op == Op::bit_and;
  const bool booleans = left.kind == Scalar::Kind::boolean && right.kind == Scalar::Kind::boolean;
  const FaultKind fault = apply_integers(op, left.integer, right.integer, result);
  if (fault == FaultKind::none && bits && booleans) result.kind = Scalar::Kind::boolean;
  return fault;
}

FaultKind compare(Op op, const Scalar& left, const Scalar& right, Scalar& result) {
  const bool comparable =
      (left.is_string() && right.is_string()) || (left.is_numeric() && right.is_numeric());
  if (!comparable) return FaultKind::not_comparable;
  const std::partial_ordering found = order(left, right);
  const bool holds = op == Op::less         ? std::is_lt(found)
                     : op == Op::less_equal ? std::is_lteq(found)
                     : op == Op::greater    ? std::is_gt(found)
                                            : std::is_gteq(found);
  return done(boolean_scalar(holds), result);
}

/// The operand itself is the result, as it is: min(1, 2.0) is the integer 1. Of equal ones it is the first.
FaultKind extreme(Op op, const Scalar& left, const Scalar& right, Scalar& result) {
  if (!left.is_numeric() || !right.is_numeric()) return FaultKind::needs_number;
  const auto right_to_left = order(right, left);
  return done((op == Op::min ? std::is_lt(right_to_left) : std::is_gt(right_to_left)) ? right : left, result);
}

/// Cut off towards zero.
FaultKind to_integer(const Scalar& operand, Scalar& result) {
  if (operand.is_integral()) return done(integer_scalar(operand.integer), result);
  constexpr double kBound = 0x1p63;
  const double whole = std::trunc(operand.number);
  if (whole < -kBound || whole >= kBound) return FaultKind::integer_overflow;
  return done(integer_scalar(static_cast<std::int64_t>(whole)), result);
}

/// Bytes of an element of the type that the operand names.
FaultKind type_size(const Scalar& operand, Scalar& result) {
  const auto type = operand.is_string() ? from_name<ElementType>(*operand.string) : std::nullopt;
  if (!type) return FaultKind::no_element_type;
  return done(integer_scalar(static_cast<std::int64_t>(size_bytes(*type))), result);
}

bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace

Scalar unset_scalar() { return {Scalar::Kind::unset, {0}}; }

Scalar boolean_scalar(bool value) { return {Scalar::Kind::boolean, {value ? 1 : 0}}; }

Scalar integer_scalar(std::int64_t value) { return {Scalar::Kind::integer, {value}}; }

Scalar number_scalar(double value) {
  Scalar scalar{Scalar::Kind::number, {0}};
  scalar.number = value;
  return scalar;
}

Scalar to_scalar(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return boolean_scalar(*boolean);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return integer_scalar(*integer);
  if (const auto* number = std::get_if<double>(&value)) return number_scalar(*number);
  Scalar scalar{Scalar::Kind::string, {0}};
  scalar.string = &std::get<std::string>(value);
  return scalar;
}

Value to_value(const Scalar& scalar) {
  switch (scalar.kind) {
    case Scalar::Kind::boolean:
      return scalar.integer != 0;
    case Scalar::Kind::number:
      return scalar.number;
    case Scalar::Kind::string:
      return *scalar.string;
    default:
      return scalar.integer;
  }
}

std::string cpp_text(const Scalar& scalar) {
  if (scalar.is_string()) return *scalar.string;
  if (scalar.kind == Scalar::Kind::boolean) return scalar.integer != 0 ? "true" : "false";
  // The digits of 2^63 are no literal of a signed type.
  if (scalar.kind == Scalar::Kind::integer && scalar.integer == kSmallest) return "(-9223372036854775807-1)";
  if (scalar.kind == Scalar::Kind::integer) return fmt::format("{}", scalar.integer);
  std::string text = fmt::format("{}", scalar.number);  // the shortest that reads back as the same number
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool is_true(const Scalar& scalar) {
  if (scalar.is_string()) return !scalar.string->empty();
  return scalar.kind == Scalar::Kind::number ? scalar.number != 0 : scalar.integer != 0;
}

bool is_arithmetic(FaultKind kind) {
  constexpr std::array kOfTypes{FaultKind::unbound_name, FaultKind::needs_number, FaultKind::needs_integer,
                                FaultKind::not_comparable, FaultKind::no_element_type};
  return std::ranges::find(kOfTypes, kind) == kOfTypes.end();
}

bool equals(const Scalar& left, const Scalar& right) {
  if (left.is_string() != right.is_string()) return false;
  return std::is_eq(order(left, right));
}

FaultKind apply(Op op, const Scalar& left, const Scalar& right, Scalar& result) {
  switch (op) {
    case Op::equal:
      return done(boolean_scalar(equals(left, right)), result);
    case Op::not_equal:
      return done(boolean_scalar(!equals(left, right)), result);
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
      return compare(op, left, right, result);
    case Op::min:
    case Op::max:
      return extreme(op, left, right, result);
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::floor_divide:
    case Op::modulo:
    case Op::power:
      return arithmetic(op, left, right, result);
    default:
      return integers_only(op, left, right, result);
  }
}

FaultKind apply(Op op, const Scalar& operand, Scalar& result) {
  if (op == Op::truth || op == Op::logical_not)
    return done(boolean_scalar(is_true(operand) == (op == Op::truth)), result);
  if (op == Op::type_size) return type_size(operand, result);
  if (!operand.is_numeric()) return FaultKind::needs_number;
  if (op == Op::abs || op == Op::negate) {
    const bool is_kept = op == Op::abs && operand.as_number() >= 0;
    if (operand.is_integral() && !is_kept) return apply_integers(Op::subtract, 0, operand.integer, result);
    if (operand.is_integral()) return done(integer_scalar(operand.integer), result);
    return done(number_scalar(op == Op::abs ? std::fabs(operand.number) : -operand.number), result);
  }
  if (op == Op::to_integer) return to_integer(operand, result);
  if (op == Op::to_number) return done(number_scalar(operand.as_number()), result);
  if (op == Op::plus) {
    const bool boolean = operand.kind == Scalar::Kind::boolean;
    return done(boolean ? integer_scalar(operand.integer) : operand, result);
  }
  if (!operand.is_integral()) return FaultKind::needs_integer;
  if (op == Op::bit_not) return done(integer_scalar(~operand.integer), result);
  if (op == Op::is_pow2) return done(boolean_scalar(is_power_of_two(operand.integer)), result);
  if (!is_power_of_two(operand.integer)) return FaultKind::no_power_of_two;
  return done(integer_scalar(std::countr_zero(static_cast<std::uint64_t>(operand.integer))), result);
}

}  // namespace tiletune::space
