#include "measure/error_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tiletune {

double unit_roundoff(ElementType type) {
  switch (type) {
    case ElementType::e4m3:
      return 0x1p-4;
    case ElementType::e5m2:
      return 0x1p-3;
    case ElementType::f16:
    case ElementType::tf32:
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

bool exceeds(double bound, double relative_error, double largest_error, double reference_rms) {
  return relative_error > bound || largest_error > kLargestErrorFactor * bound * reference_rms;
}

double error_bound(ElementType output, double accumulation_roundoff, double accumulation_length,
                   double factor) {
  if (!is_floating(output)) return 0;
  return factor * (2 * unit_roundoff(output) +
                   2 * std::sqrt(std::max(accumulation_length, 1.0)) * accumulation_roundoff);
}

double error_bound(const PrepareRequest& problem, ElementType output, double tolerance_factor) {
  const double both = problem.candidates.empty() ? 1 : 2;
  double roundoff = unit_roundoff(problem.accumulator);
  if (const auto bits = problem.accumulation_bits) roundoff = std::max(roundoff, std::ldexp(1, -*bits));
  return error_bound(output, roundoff, problem.workload.accumulation, both * tolerance_factor);
}

std::string contradiction(const Accuracy& accuracy, const PrepareRequest& problem, double tolerance_factor) {
  if (problem.workload.tolerance) return "";
  double bound = 0;
  for (const Workload::SizedBuffer& buffer : problem.workload.buffers) {
    if (buffer.role != BufferRole::in && buffer.is_compared)
      bound = std::max(bound, error_bound(problem, buffer.type, tolerance_factor));
  }
  if (accuracy.relative_error <= bound) return "";
  return fmt::format("relative error {:.3g} (bound {:.3g}), although its worker found nothing wrong",
                     accuracy.relative_error, bound);
}

}  // namespace tiletune
