#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tiletune {

/// A value of an enumeration and how it is written.
template <typename Enum>
struct Named {
  Enum value;
  std::string_view name;
};

/// How the values of an enumeration are written in JSON, messages, tables and on the command line: the only
/// list of these names. Specialised beside the enumeration.
template <typename Enum>
inline constexpr std::array<Named<Enum>, 0> kSpellings{};

/// The spellings from a table that has a row for each value.
template <typename Enum, typename Row, std::size_t kCount>
constexpr std::array<Named<Enum>, kCount> spellings_of(const std::array<Row, kCount>& table, Enum Row::*value,
                                                       std::string_view Row::*name) {
  std::array<Named<Enum>, kCount> spellings{};
  for (std::size_t i = 0; i < kCount; ++i) spellings[i] = {table[i].*value, table[i].*name};
  return spellings;
}

template <typename Enum>
concept Spelled = !kSpellings<Enum>.empty();

template <Spelled Enum>
constexpr std::string_view name(Enum value) {
  const auto found = std::find_if(kSpellings<Enum>.begin(), kSpellings<Enum>.end(),
                                  [&](const Named<Enum>& entry) { return entry.value == value; });
  return found == kSpellings<Enum>.end() ? "unknown" : found->name;
}

template <Spelled Enum>
constexpr std::optional<Enum> from_name(std::string_view text) {
  for (const Named<Enum>& entry : kSpellings<Enum>)
    if (entry.name == text) return entry.value;
  return std::nullopt;
}

}  // namespace tiletune
