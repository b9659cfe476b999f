#include "measure/input_values.h"

#include <algorithm>
#include <cmath>

namespace tiletune {

namespace {

using u64 = std::uint64_t;
// The device compiles the same text.
#define HOST_DEVICE
#include "measure/input_values.cuh"
#undef HOST_DEVICE

}  // namespace

Workload::Values values_of(const Workload::SizedBuffer& buffer) {
  if (buffer.input) return *buffer.input;
  if (is_floating(buffer.type)) return {Distribution::uniform, -1, 1};
  // A sum of some thousand products of them fits into 32 bits.
  constexpr double kMost = 100;
  const TypeRange range = range_of(buffer.type);
  return {Distribution::randint, std::max(range.lowest, -kMost), std::min(range.highest, kMost) + 1};
}

double input_value(const Workload::Values& values, std::uint64_t seed, std::uint64_t count, std::uint64_t n) {
  return value_at(static_cast<int>(values.distribution), values.a, values.b, seed, count, n);
}

namespace {

/// To so many bits behind the leading one, down to a lowest exponent; what is too large becomes the largest.
double rounded_to(double value, int mantissa, int lowest_exponent, double largest) {
  if (value == 0) return value;
  const double size = std::min(std::abs(value), largest);
  const int exponent = std::max(std::ilogb(size), lowest_exponent);
  return std::copysign(std::ldexp(std::nearbyint(std::ldexp(size, mantissa - exponent)), exponent - mantissa),
                       value);
}

}  // namespace

double rounded(double value, ElementType type) {
  const double highest = range_of(type).highest;
  switch (type) {
    case ElementType::f16:
      return rounded_to(static_cast<float>(value), 10, -14, highest);
    case ElementType::bf16:
      return rounded_to(static_cast<float>(value), 7, -126, highest);
    case ElementType::tf32:
      return rounded_to(static_cast<float>(value), 10, -126, highest);
    case ElementType::f32:
      return static_cast<float>(value);
    case ElementType::e4m3:
      return rounded_to(value, 3, -6, highest);
    case ElementType::e5m2:
      return rounded_to(value, 2, -14, highest);
    default:
      return value;
  }
}

std::uint16_t half_bits(double value) {
  constexpr int kMantissa = 10;
  constexpr int kBias = 15;
  const double size = std::abs(value);
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const int exponent = size == 0 ? 1 - kBias : std::max(std::ilogb(size), 1 - kBias);
  const auto steps = static_cast<int>(std::ldexp(size, kMantissa - exponent));
  constexpr int kLeading = 1 << kMantissa;
  const int code = steps < kLeading ? steps : ((exponent + kBias) << kMantissa) + steps - kLeading;
  return static_cast<std::uint16_t>(sign | code);
}

std::uint64_t seed_of_buffer(std::uint64_t seed, std::size_t place) {
  return (seed << 8 | (place + 1)) << 40;
}

}  // namespace tiletune
