#include <limits>
#include <numeric>

#include "space/operators.h"

namespace tiletune::space {
namespace {

constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

FaultKind done(std::int64_t value, std::int64_t& result) {
  result = value;
  return FaultKind::none;
}

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

}  // namespace

FaultKind apply_integers(Op op, std::int64_t left, std::int64_t right, Scalar& result) {
  std::int64_t value = 0;
  const FaultKind fault = compute(op, left, right, value);
  if (fault == FaultKind::none) result = integer_scalar(value);
  return fault;
}

}  // namespace tiletune::space
