#pragma once

#include <array>
#include <string>
#include <string_view>
#include <tuple>

#include "base/fields.h"

namespace tiletune {

struct JsonNode;

// The keys of an object are listed once, as a tuple beside the structs that hold the values. An entry is a
// key with what reads its value into a member, need() or may(); a field(), which may be left out; or the bare
// name of a key that is read by hand, because others decide how.

/// What is read in the way of its type: read_as().
struct ByType {};

/// A key whose value `read` makes a member of, from the value and, where it takes one, the context.
template <typename Struct, typename T, typename Read>
struct Key {
  std::string_view name;
  T Struct::*member;
  Read read;
  const char* expected;  ///< what belongs there; null: the key may be left out
};

template <typename Struct, typename T, typename Read = ByType>
constexpr Key<Struct, T, Read> need(std::string_view name, T Struct::*member, const char* expected,
                                    Read read = {}) {
  return {name, member, read, expected};
}
template <typename Struct, typename T, typename Read = ByType>
constexpr Key<Struct, T, Read> may(std::string_view name, T Struct::*member, Read read = {}) {
  return {name, member, read, nullptr};
}

constexpr std::string_view name_of_key(std::string_view name) { return name; }
template <typename Entry>
requires requires(const Entry& entry) { entry.name; }
constexpr std::string_view name_of_key(const Entry& entry) { return entry.name; }

/// The names of all keys of some lists, in their order.
template <typename... Lists>
constexpr auto key_names(const Lists&... lists) {
  return std::apply(
      [](const auto&... keys) { return std::array<std::string_view, sizeof...(keys)>{name_of_key(keys)...}; },
      std::tuple_cat(lists...));
}

// Readers that lists name; see spec/reader.h. They throw UserError.

/// Letters, digits and underscores, not starting with a digit, at most kLongestName of them.
std::string read_identifier(const JsonNode& node);
/// One that may stand in namespaces: "foo::scale".
std::string read_qualified_name(const JsonNode& node);

}  // namespace tiletune
