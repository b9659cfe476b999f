#include "space/range.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>

namespace tiletune::space {
namespace {

constexpr Range kUnknown{Range::Kind::unknown, false, true, {Scalar::Kind::unset, {0}}, 0, 0};
constexpr Range kNothing{Range::Kind::numbers, true, true, {Scalar::Kind::unset, {0}}, 1, 0};

/// Those that 64 bits hold: what lies beyond them is a fault.
Range numbers(long double low, long double high, bool integers) {
  constexpr long double kMostInteger = 0x1p63L - 1;  // long double holds all 64-bit integers and all doubles
  const long double most = integers ? kMostInteger : DBL_MAX;
  const bool faults = low < -kMostInteger || high > kMostInteger;
  const bool is_single = integers && low == high && !faults;
  return {Range::Kind::numbers,
          integers,
          faults,
          is_single ? integer_scalar(static_cast<std::int64_t>(low)) : unset_scalar(),
          std::max(low, -most - 1),
          std::min(high, most)};
}

Range boolean(bool can_be_true, bool can_be_false) {
  return numbers(can_be_false ? 0 : 1, can_be_true ? 1 : 0, true);
}

/// What an operator gives for single values.
Range exact(FaultKind fault, const Scalar& value) {
  return fault == FaultKind::none ? range_of(value) : is_arithmetic(fault) ? kNothing : kUnknown;
}

/// Integers are exact; anything else gets more than what rounding changes.
Range rounded(const Range& a, const Range& b, bool integers, long double low, long double high) {
  if (integers) return numbers(low, high, true);
  const auto magnitudes = {-a.low, a.high, -b.low, b.high, -low, high};
  const long double rounding = std::max(magnitudes) * 0x1p-50L + DBL_MIN;
  return numbers(low - rounding, high + rounding, false);
}

/// The least and the greatest result of an operator that is monotonic in each operand are at their ends.
template <class Real>
Range at_ends(const Range& a, const Range& b, bool integers, const Real& real) {
  const auto [low, high] =
      std::minmax({real(a.low, b.low), real(a.low, b.high), real(a.high, b.low), real(a.high, b.high)});
  return rounded(a, b, integers, low, high);
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
      return rounded(a, b, integers, a.low + b.low, a.high + b.high);
    case Op::subtract:
      return rounded(a, b, integers, a.low - b.high, a.high - b.low);
    case Op::multiply:
      if (a.low >= 0 && b.low >= 0) return rounded(a, b, integers, a.low * b.low, a.high * b.high);
      return at_ends(a, b, integers, std::multiplies<>());
    case Op::divide:
    case Op::floor_divide:
    case Op::ceil_div:
      if ((op != Op::divide && !integers) || (b.low <= 0 && b.high >= 0)) return kUnknown;
      if (op == Op::divide) return at_ends(a, b, false, std::divides<>());
      if (op == Op::ceil_div)
        return at_ends(a, b, true, [](auto left, auto right) { return std::ceil(left / right); });
      return at_ends(a, b, true, [](auto left, auto right) { return std::floor(left / right); });
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
  if (left.kind == Range::Kind::numbers && right.kind == Range::Kind::numbers)
    result = left.is_empty() || right.is_empty() ? kNothing : computed(op, left, right);
  const bool is_exact = result.integers && left.integers && right.integers;
  if (!is_exact && left.is_single() && right.is_single()) {
    Scalar value = unset_scalar();
    const FaultKind fault = apply(op, left.single, right.single, value);
    result = exact(fault, value);
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
