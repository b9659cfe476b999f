#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/spelling.h"
#include "spec/element_type.h"

namespace tiletune {

/// What an input holds before the first launch. Every element follows from its index and the seed alone, by
/// measure/input_values.cuh.
enum class Distribution {
  uniform,      ///< numbers from a to below b
  normal,       ///< of that mean and deviation
  constant,     ///< one number
  iota,         ///< first, first + step, ...
  randint,      ///< integers from a to below b
  permutation,  ///< the numbers from 0 to below the number of elements, in random order
  offsets       ///< from 0 to total, ascending: where rows of random length begin, and the end
};

/// All that readers and checks know of a distribution.
struct DistributionFacts {
  Distribution distribution;
  std::string_view name;
  std::string_view written;
  std::size_t arguments;
  /// The arguments when none are given; empty: they must be.
  std::array<std::string_view, 2> defaults;
  bool integers;  ///< gives integers for every type
  bool floats;    ///< may fill buffers of floating-point types
};
/// In the order of the enumeration.
inline constexpr std::array<DistributionFacts, 7> kDistributions{
    {{Distribution::uniform, "uniform", "uniform(a, b)", 2, {"-1", "1"}, false, true},
     {Distribution::normal, "normal", "normal(mean, deviation)", 2, {"0", "1"}, false, true},
     {Distribution::constant, "constant", "constant(value)", 1, {}, true, true},
     {Distribution::iota, "iota", "iota(first, step)", 2, {"0", "1"}, true, true},
     {Distribution::randint, "randint", "randint(a, b)", 2, {}, true, true},
     {Distribution::permutation, "permutation", "permutation", 0, {}, true, false},
     {Distribution::offsets, "offsets", "offsets(total)", 1, {}, true, false}}};
constexpr const DistributionFacts& facts_of(Distribution distribution) {
  return kDistributions[static_cast<std::size_t>(distribution)];
}

/// Both ends of what a distribution gives with these arguments, inclusive; `last` is the number of the last
/// element.
constexpr TypeRange ends_of(Distribution distribution, double a, double b, double last) {
  constexpr double kFarthestDeviations = 9;  // no normal number that is made here lies farther from its mean
  switch (distribution) {
    case Distribution::constant:
      return {a, a};
    case Distribution::iota:
      return {std::min(a, a + b * last), std::max(a, a + b * last)};
    case Distribution::permutation:
      return {0, last};
    case Distribution::offsets:
      return {std::min(a, 0.0), std::max(a, 0.0)};
    case Distribution::randint:
      return {a, b - 1};
    case Distribution::normal:
      return {a - kFarthestDeviations * b, a + kFarthestDeviations * b};
    default:
      return {a, b};
  }
}

template <>
inline constexpr auto kSpellings<Distribution> = spellings_of<Distribution>(kDistributions,
                                                                            &DistributionFacts::distribution,
                                                                            &DistributionFacts::name);

}  // namespace tiletune
