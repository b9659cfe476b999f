#include "spec/python_integers.h"

namespace tiletune {

namespace {

std::optional<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
  constexpr std::int64_t kMost = 63;  // beyond it only powers of 0, 1 and -1 would fit
  if (exponent < 0 || exponent > kMost) return std::nullopt;
  std::int64_t value = 1;
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(value, base, &value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> calculate_integers(char op, std::int64_t left, std::int64_t right) {
  std::int64_t value = 0;
  if (op == '+') return __builtin_add_overflow(left, right, &value) ? std::nullopt : std::optional(value);
  if (op == '-') return __builtin_sub_overflow(left, right, &value) ? std::nullopt : std::optional(value);
  if (op == '*') return __builtin_mul_overflow(left, right, &value) ? std::nullopt : std::optional(value);
  if (op == '^') return power(left, right);
  if (right == 0) return std::nullopt;
  if (right == -1) return op == '%' ? std::optional<std::int64_t>(0) : calculate_integers('-', 0, left);
  const std::int64_t remainder = left % right;
  const bool up = remainder != 0 && (remainder < 0) != (right < 0);
  return op == '%' ? remainder + (up ? right : 0) : left / right - (up ? 1 : 0);
}

}  // namespace tiletune
