#include "measure/error_bound.h"

#include <algorithm>
#include <cmath>

namespace tiletune {

namespace {

double unit_roundoff(ElementType type) {
  switch (type) {
    case ElementType::e4m3:
      return 0x1p-4;
    case ElementType::e5m2:
      return 0x1p-3;
    case ElementType::f16:
      return 0x1p-11;
    case ElementType::bf16:
      return 0x1p-8;
    case ElementType::f32:
      return 0x1p-24;
    case ElementType::f64:
      return 0x1p-53;
    default:
      return 0;
  }
}

}  // namespace

bool exceeds(double bound, double relative_error, double largest_error, double reference_rms) {
  return relative_error > bound || largest_error > kLargestErrorFactor * bound * reference_rms;
}

double error_bound(ElementType output, ElementType accumulator, double accumulation_length, double factor) {
  if (!is_floating(output)) return 0;
  return factor * (2 * unit_roundoff(output) +
                   2 * std::sqrt(std::max(accumulation_length, 1.0)) * unit_roundoff(accumulator));
}

}  // namespace tiletune
