#pragma once

#include <array>
#include <cstddef>

#include "base/spelling.h"

namespace tiletune {

/// Of the elements of a buffer and of scalar arguments. `e4m3` and `e5m2` are the 8-bit floating-point
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
template <>
inline constexpr std::array<Named<ElementType>, 16> kSpellings<ElementType>{{{ElementType::f16, "f16"},
                                                                             {ElementType::bf16, "bf16"},
                                                                             {ElementType::tf32, "tf32"},
                                                                             {ElementType::f32, "f32"},
                                                                             {ElementType::f64, "f64"},
                                                                             {ElementType::e4m3, "e4m3"},
                                                                             {ElementType::e5m2, "e5m2"},
                                                                             {ElementType::i8, "i8"},
                                                                             {ElementType::u8, "u8"},
                                                                             {ElementType::i16, "i16"},
                                                                             {ElementType::u16, "u16"},
                                                                             {ElementType::i32, "i32"},
                                                                             {ElementType::u32, "u32"},
                                                                             {ElementType::i64, "i64"},
                                                                             {ElementType::u64, "u64"},
                                                                             {ElementType::boolean, "bool"}}};

constexpr std::size_t size_bytes(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::i64:
    case ElementType::u64:
      return 8;
    case ElementType::tf32:
    case ElementType::f32:
    case ElementType::i32:
    case ElementType::u32:
      return 4;
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::i16:
    case ElementType::u16:
      return 2;
    case ElementType::e4m3:
    case ElementType::e5m2:
    case ElementType::i8:
    case ElementType::u8:
    case ElementType::boolean:
      break;
  }
  return 1;
}

/// The others hold integers, which are compared exactly.
constexpr bool is_floating(ElementType type) { return type <= ElementType::e5m2; }

/// What a type can hold, as numbers: of f64 and of the 64-bit integers as far as a double says it.
struct TypeRange {
  double lowest = 0;
  double highest = 0;
};
constexpr TypeRange range_of(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return {-65504, 65504};
    case ElementType::bf16:
      return {-0x1.fep127, 0x1.fep127};
    case ElementType::tf32:
      return {-0x1.ffcp127, 0x1.ffcp127};
    case ElementType::f32:
      return {-0x1.fffffep127, 0x1.fffffep127};
    case ElementType::f64:
      return {-0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023};
    case ElementType::e4m3:
      return {-448, 448};
    case ElementType::e5m2:
      return {-57344, 57344};
    case ElementType::i8:
      return {-0x1p7, 0x1p7 - 1};
    case ElementType::u8:
      return {0, 0x1p8 - 1};
    case ElementType::i16:
      return {-0x1p15, 0x1p15 - 1};
    case ElementType::u16:
      return {0, 0x1p16 - 1};
    case ElementType::i32:
      return {-0x1p31, 0x1p31 - 1};
    case ElementType::u32:
      return {0, 0x1p32 - 1};
    case ElementType::i64:
      return {-0x1p63, 0x1p63};
    case ElementType::u64:
      return {0, 0x1p64};
    case ElementType::boolean:
      break;
  }
  return {0, 1};
}

}  // namespace tiletune
