#include "space/range.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace tiletune::space {
namespace {

constexpr Range kUnknown{Range::Kind::unknown, false, true, {Scalar::Kind::unset, {0}}, 0, 0};
constexpr Range kNothing{Range::Kind::numbers, true, true, {Scalar::Kind::unset, {0}}, 1, 0};

/// Those that 64 bits hold: what lies beyond them is a fault.
Range numbers(long double low, long double high, bool integers) {
  constexpr long double kMostInteger = 0x1p63L - 1;  // long double holds all 64-bit integers and all doubles
  const long double most = integers ? kMostInteger : DBL_MAX;
  const bool faults = low < -kMostInteger || high > kMostInteger;
  return {Range::Kind::numbers, integers, faults, unset_scalar(), std::max(low, -most - 1),
          std::min(high, most)};
}

Range boolean(bool can_be_true, bool can_be_false) {
  return numbers(can_be_false ? 0 : 1, can_be_true ? 1 : 0, true);
}

/// What an operator gives for single values.
Range exact(FaultKind fault, const Scalar& value) {
  return fault == FaultKind::none ? range_of(value) : is_arithmetic(fault) ? kNothing : kUnknown;
}

long double real(Op op, long double left, long double right) {
  if (op == Op::add) return left + right;
  if (op == Op::subtract) return left - right;
  if (op == Op::multiply) return left * right;
  const long double quotient = left / right;
  return op == Op::divide ? quotient : op == Op::floor_divide ? std::floor(quotient) : std::ceil(quotient);
}

/// The operator is monotonic in each operand, so that its least and greatest results are at their ends.
/// Integers are exact; anything else gets more than what rounding changes.
Range extremes(Op op, const Range& a, const Range& b) {
  auto [low, high] = std::minmax(
      {real(op, a.low, b.low), real(op, a.low, b.high), real(op, a.high, b.low), real(op, a.high, b.high)});
  const bool integers = a.integers && b.integers && op != Op::divide;
  if (!integers) {
    const auto magnitudes = {-a.low, a.high, -b.low, b.high, -low, high};
    const long double rounding = std::max(magnitudes) * 0x1p-50L + DBL_MIN;
    low -= rounding;
    high += rounding;
  }
  return numbers(low, high, integers);
}

Range computed(Op op, const Range& a, const Range& b) {
  const bool integers = a.integers && b.integers;
  switch (op) {
    case Op::less:
      return boolean(a.low < b.high, a.high >= b.low);
    case Op::less_equal:
      return boolean(a.low <= b.high, a.high > b.low);
    case Op::greater:
    case Op::greater_equal:
      return computed(op == Op::greater ? Op::less : Op::less_equal, b, a);
    case Op::equal:
      return boolean(a.low <= b.high && b.low <= a.high, a.low != b.high || b.low != a.high);
    case Op::not_equal:
      return apply(Op::logical_not, computed(Op::equal, a, b));
    case Op::min:
      return numbers(std::min(a.low, b.low), std::min(a.high, b.high), integers);
    case Op::max:
      return numbers(std::max(a.low, b.low), std::max(a.high, b.high), integers);
    case Op::add:
    case Op::subtract:
    case Op::multiply:
      return extremes(op, a, b);
    case Op::divide:
    case Op::floor_divide:
    case Op::ceil_div:
      return (integers || op == Op::divide) && (b.low > 0 || b.high < 0) ? extremes(op, a, b) : kUnknown;
    case Op::round_up:
      return apply(Op::multiply, computed(Op::ceil_div, a, b), b);
    default:
      return kUnknown;
  }
}

}  // namespace

bool Range::can_be_true() const {
  return is_single() ? is_true(single) : kind == Kind::unknown || (low <= high && (low != 0 || high != 0));
}

bool Range::can_be_false() const {
  return is_single() ? !is_true(single) : kind == Kind::unknown || (low <= 0 && high >= 0);
}

Range range_of(const Scalar& scalar) {
  const long double value = scalar.kind == Scalar::Kind::number ? static_cast<long double>(scalar.number)
                            : scalar.is_integral()              ? static_cast<long double>(scalar.integer)
                                                                : 0;
  const auto kind = scalar.is_numeric()  ? Range::Kind::numbers
                    : scalar.is_string() ? Range::Kind::unknown
                                         : Range::Kind::unset;
  return {kind, scalar.is_integral(), false, scalar, value, value};
}

Range joined(const Range& a, const Range& b) {
  const bool numeric = a.kind == Range::Kind::numbers && b.kind == Range::Kind::numbers;
  Range result = a.is_empty()   ? b
                 : b.is_empty() ? a
                 : numeric
                     ? numbers(std::min(a.low, b.low), std::max(a.high, b.high), a.integers && b.integers)
                     : kUnknown;
  result.faults = result.faults || a.faults || b.faults;
  return result;
}

Range selected(const Range& condition, const Range& if_true, const Range& if_false) {
  Range result = condition.can_be_true() ? if_true : kNothing;
  if (condition.can_be_false()) result = condition.can_be_true() ? joined(if_true, if_false) : if_false;
  result.faults = result.faults || condition.faults;
  return result;
}

Range apply(Op op, const Range& left, const Range& right) {
  Range result = kUnknown;
  if (left.is_single() && right.is_single()) {
    Scalar value = unset_scalar();
    const FaultKind fault = apply(op, left.single, right.single, value);
    result = exact(fault, value);
  } else if (left.kind == Range::Kind::numbers && right.kind == Range::Kind::numbers) {
    result = left.is_empty() || right.is_empty() ? kNothing : computed(op, left, right);
  }
  result.faults = result.faults || left.faults || right.faults;
  return result;
}

Range apply(Op op, const Range& operand) {
  Range result = kUnknown;
  if (op == Op::truth) result = boolean(operand.can_be_true(), operand.can_be_false());
  if (op == Op::logical_not) result = boolean(operand.can_be_false(), operand.can_be_true());
  if (op == Op::negate) return apply(Op::subtract, range_of(integer_scalar(0)), operand);
  if (operand.is_single()) {
    Scalar value = unset_scalar();
    const FaultKind fault = apply(op, operand.single, value);
    result = exact(fault, value);
  }
  result.faults = result.faults || operand.faults;
  return result;
}

}  // namespace tiletune::space
