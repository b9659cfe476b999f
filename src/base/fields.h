#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// The fields of a struct, stated once beside it:
///
///     struct Sustained {
///       double launch_us = 0;
///       std::optional<double> power_w;
///
///       static constexpr auto fields() { return fields_of<&Sustained::launch_us, &Sustained::power_w>(); }
///     };
///
/// What writes or reads the struct goes through this list: messages (base/fields_json.h), configs, files of
/// GPU models, the database's policies, columns of the same name.
namespace tiletune {

/// What a number may be; both ends are inclusive. Without ends it is any number, and a floating-point number
/// may be infinite or not a number, too.
template <typename Number>
struct Bounds {
  using Limits = std::numeric_limits<Number>;
  Number min = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  Number max = Limits::has_infinity ? Limits::infinity() : Limits::max();
  bool above = false;    ///< `min` itself is excluded
  bool or_zero = false;  ///< zero is allowed besides

  constexpr bool contain(Number number) const {
    if constexpr (std::is_floating_point_v<Number>) {
      const bool any = min == -Limits::infinity() && max == Limits::infinity();
      if (!std::isfinite(number)) return any;
    }
    return (or_zero && number == 0) || ((above ? number > min : number >= min) && number <= max);
  }
};

/// Bounds of a type that is not a number.
struct NoBounds {};

template <typename T>
struct BoundsOf {
  using type = NoBounds;
};
template <typename T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) struct BoundsOf<T> {
  using type = Bounds<T>;
};
/// The bounds hold for each number.
template <typename T>
struct BoundsOf<std::optional<T>> : BoundsOf<T> {};
template <typename T>
struct BoundsOf<std::vector<T>> : BoundsOf<T> {};

template <typename Struct, typename T>
struct FieldOf {
  std::string_view name;
  T Struct::*member;
  typename BoundsOf<T>::type bounds = {};
  bool is_binary = false;  ///< a string of any bytes, not of text
};

template <typename Struct, typename T>
constexpr FieldOf<Struct, T> field(std::string_view name, T Struct::*member,
                                   typename BoundsOf<T>::type bounds = {}) {
  return {name, member, bounds};
}

template <typename Struct>
constexpr FieldOf<Struct, std::string> binary_field(std::string_view name, std::string Struct::*member) {
  return {name, member, {}, true};
}

/// The name of a member, from __PRETTY_FUNCTION__: "[with auto Member = &Sustained::power_w; ...]".
template <auto Member>
constexpr std::string_view name_of_member() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(0, text.find_first_of(";]", text.find("Member = ")));
  return text.substr(text.rfind(':') + 1);
}
template <auto Member>
inline constexpr std::string_view kNameOf = name_of_member<Member>();

/// Values of different types in their order, as a function that passes them on: list_of(a, b)(use) is
/// use(a, b). Where std::tuple holds them, compiling the lists of messages takes twice as long.
template <typename... Values>
constexpr auto list_of(Values... values) {
  return [=](const auto& use) { return use(values...); };
}
template <typename List>
constexpr auto joined(const List& list) {
  return list;
}
template <typename List, typename... Others>
constexpr auto joined(const List& list, const Others&... others) {
  return list([&](const auto&... first) {
    return joined(others...)([&](const auto&... last) { return list_of(first..., last...); });
  });
}

/// Lists fields whose names are those of the members.
template <auto... Members>
constexpr auto fields_of() {
  return list_of(field(kNameOf<Members>, Members)...);
}
/// Lists members that have the same bounds.
template <auto... Members, typename Number>
constexpr auto fields_of(const Bounds<Number>& bounds) {
  return list_of(field(kNameOf<Members>, Members, bounds)...);
}
/// Lists numbers that are at least 0.
template <auto... Members>
constexpr auto fields_from_zero() {
  return list_of(field(kNameOf<Members>, Members, {.min = 0})...);
}

template <typename T>
concept HasFields = requires {
  T::fields();
};

/// Calls `visit(field)` for each, in their order.
template <HasFields Struct, typename Visit>
constexpr void for_each_field(const Visit& visit) {
  Struct::fields()([&](const auto&... fields) { (visit(fields), ...); });
}

template <HasFields Struct>
constexpr auto field_names() {
  return Struct::fields()(
      [](const auto&... fields) { return std::array<std::string_view, sizeof...(fields)>{fields.name...}; });
}

}  // namespace tiletune
