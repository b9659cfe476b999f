#include "spec/names.h"

#include <algorithm>

namespace tiletune {

namespace {

template <typename T, std::size_t N>
std::string_view name_in(const std::array<Named<T>, N>& table, T value) {
  return std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.value == value; })
      ->name;
}

}  // namespace

std::string_view name(ElementType type) { return name_in(kElementTypes, type); }
std::string_view name(ScalarType type) { return name_in(kScalarTypes, type); }
std::string_view name(Swizzle swizzle) { return name_in(kSwizzles, swizzle); }
std::string_view name(CachePolicy policy) { return name_in(kCachePolicies, policy); }
std::string_view name(Baseline baseline) { return name_in(kBaselines, baseline); }

std::optional<ElementType> element_type_from_name(std::string_view text) {
  for (const auto& entry : kElementTypes) {
    if (entry.name == text) return entry.value;
  }
  return std::nullopt;
}

std::optional<Swizzle> swizzle_from_name(std::string_view text) {
  for (const auto& entry : kSwizzles) {
    if (entry.name == text) return entry.value;
  }
  return std::nullopt;
}

std::size_t size_bytes(ElementType type) {
  switch (type) {
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    case ElementType::f64:
      return 8;
    case ElementType::f32:
    case ElementType::i32:
    case ElementType::u32:
      break;
  }
  return 4;
}

}  // namespace tiletune
