#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "base/spelling.h"

namespace tiletune {

/// What the elements of a buffer and scalar arguments are. `e4m3` and `e5m2` are the 8-bit floating-point
/// formats of the OCP specification "OFP8"; `tf32` is an f32 whose last 13 bits of the fraction are zero,
/// which tensor cores multiply without loss; `boolean` is a byte that holds 0 or 1.
enum class ElementType {
  f16,
  bf16,
  tf32,
  f32,
  f64,
  e4m3,
  e5m2,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  boolean
};

/// What a type can hold, as numbers: of f64 and of the 64-bit integers as far as a double says it.
struct TypeRange {
  double lowest = 0;
  double highest = 0;
};

struct TypeFacts {
  ElementType type;
  std::string_view name;
  std::size_t bytes;
  TypeRange range;
  // Floating-point types only: bits after the leading one, and the exponent of the smallest normal number.
  int fraction_bits = 0;
  int lowest_exponent = 0;
};
/// In the order of the enumeration.
inline constexpr std::array<TypeFacts, 16> kTypeFacts{
    {{ElementType::f16, "f16", 2, {-65504, 65504}, 10, -14},
     {ElementType::bf16, "bf16", 2, {-0x1.fep127, 0x1.fep127}, 7, -126},
     {ElementType::tf32, "tf32", 4, {-0x1.ffcp127, 0x1.ffcp127}, 10, -126},
     {ElementType::f32, "f32", 4, {-0x1.fffffep127, 0x1.fffffep127}, 23, -126},
     {ElementType::f64, "f64", 8, {-0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023}, 52, -1022},
     {ElementType::e4m3, "e4m3", 1, {-448, 448}, 3, -6},
     {ElementType::e5m2, "e5m2", 1, {-57344, 57344}, 2, -14},
     {ElementType::i8, "i8", 1, {-0x1p7, 0x1p7 - 1}},
     {ElementType::u8, "u8", 1, {0, 0x1p8 - 1}},
     {ElementType::i16, "i16", 2, {-0x1p15, 0x1p15 - 1}},
     {ElementType::u16, "u16", 2, {0, 0x1p16 - 1}},
     {ElementType::i32, "i32", 4, {-0x1p31, 0x1p31 - 1}},
     {ElementType::u32, "u32", 4, {0, 0x1p32 - 1}},
     {ElementType::i64, "i64", 8, {-0x1p63, 0x1p63}},
     {ElementType::u64, "u64", 8, {0, 0x1p64}},
     {ElementType::boolean, "bool", 1, {0, 1}}}};
constexpr const TypeFacts& facts_of(ElementType type) { return kTypeFacts[static_cast<std::size_t>(type)]; }

template <>
inline constexpr auto kSpellings<ElementType> = spellings_of<ElementType>(kTypeFacts, &TypeFacts::type,
                                                                          &TypeFacts::name);

constexpr std::size_t size_bytes(ElementType type) { return facts_of(type).bytes; }
constexpr TypeRange range_of(ElementType type) { return facts_of(type).range; }

/// The others hold integers, which are compared exactly.
constexpr bool is_floating(ElementType type) { return type <= ElementType::e5m2; }

/// How the values of an input are chosen before the first launch. measure/input_values.cuh computes every
/// element from its index and the seed alone.
enum class Distribution {
  uniform,      ///< numbers, at least a and less than b
  normal,       ///< numbers with a given mean and standard deviation
  constant,     ///< one number
  iota,         ///< first, first + step, ...
  randint,      ///< integers, at least a and less than b
  permutation,  ///< 0 to the number of elements - 1, in random order
  offsets,      ///< 0 to total, ascending: the starts of rows of random length, then their end
  spread,       ///< numbers of both signs whose logarithms to base 2 are at least a and less than b
  alternating,  ///< pairs of a number, at least a and less than b, and its negative
  special       ///< uniform(-1, 1), but on average 1 of a elements is an infinity, a zero or NaN
};

/// Everything that readers and checks need to know about a distribution.
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
inline constexpr std::array<DistributionFacts, 10> kDistributions{
    {{Distribution::uniform, "uniform", "uniform(a, b)", 2, {"-1", "1"}, false, true},
     {Distribution::normal, "normal", "normal(mean, deviation)", 2, {"0", "1"}, false, true},
     {Distribution::constant, "constant", "constant(value)", 1, {}, true, true},
     {Distribution::iota, "iota", "iota(first, step)", 2, {"0", "1"}, true, true},
     {Distribution::randint, "randint", "randint(a, b)", 2, {}, true, true},
     {Distribution::permutation, "permutation", "permutation", 0, {}, true, false},
     {Distribution::offsets, "offsets", "offsets(total)", 1, {}, true, false},
     {Distribution::spread, "spread", "spread(a, b)", 2, {}, false, true},
     {Distribution::alternating, "alternating", "alternating(a, b)", 2, {"0.5", "1"}, false, true},
     {Distribution::special, "special", "special(of)", 1, {}, false, true}}};
constexpr const DistributionFacts& facts_of(Distribution distribution) {
  return kDistributions[static_cast<std::size_t>(distribution)];
}

/// The least and the greatest value of a distribution with these arguments, inclusive. `last` is the index of
/// the last element.
inline TypeRange ends_of(Distribution distribution, double a, double b, double last) {
  constexpr double kFarthestDeviations = 9;  // the generator gives none farther from the mean
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
    case Distribution::spread:
      return {-std::exp2(b), std::exp2(b)};
    case Distribution::alternating:
      return {-std::max(std::abs(a), std::abs(b)), std::max(std::abs(a), std::abs(b))};
    case Distribution::special:
      return {-1, 1};
    default:
      return {a, b};
  }
}

template <>
inline constexpr auto kSpellings<Distribution> = spellings_of<Distribution>(kDistributions,
                                                                            &DistributionFacts::distribution,
                                                                            &DistributionFacts::name);

}  // namespace tiletune
