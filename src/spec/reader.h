#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fields.h"
#include "base/spelling.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// A JSON value with its place. It refers to the value, which must outlive it.
struct JsonNode {
  std::reference_wrapper<const nlohmann::ordered_json> json;
  Where where;
};

/// Reads one object whose keys are known beforehand.
///
/// A key outside `known` is refused first, so that a misspelt key is named rather than reported as missing;
/// finish() refuses the keys that are known but were not asked for.
class ObjectReader {
 public:
  ObjectReader(const JsonNode& node, std::span<const std::string_view> known);

  const Where& where() const { return node_.where; }
  /// The member, if it is there.
  std::optional<JsonNode> find(std::string_view key);
  /// The member. Throws UserError when it is missing, saying what belongs there ("a list of problems").
  JsonNode need(std::string_view key, const std::string& expected);
  /// Reads every key of the list (see spec/launch_spec.h) that has a reader or is a field(). `context` are
  /// further arguments of the readers.
  template <typename Struct, typename Keys, typename... Context>
  void read(const Keys& keys, Struct& object, const Context&... context) {
    keys([&](const auto&... each) { (read_key(each, object, context...), ...); });
  }
  /// Throws UserError for the first member that was never asked for.
  void finish(const std::string& remedy = "Remove it.") const;

 private:
  template <typename Key, typename Struct, typename... Context>
  void read_key(const Key& key, Struct& object, const Context&... context);

  JsonNode node_;
  std::vector<std::string_view> known_;
  std::set<std::string, std::less<>> asked_;
};

/// Names of one kind of space, each declared once.
class DeclaredNames {
 public:
  /// `what` says what the name stands for: "a parameter". Throws UserError when the name is taken.
  void declare(const std::string& name, const std::string& what, const Where& where);
  bool contains(const std::string& name) const { return declared_.count(name) != 0; }
  /// In order of declaration.
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Declaration {
    std::string what;
    Where where;
  };
  std::map<std::string, Declaration> declared_;
  std::vector<std::string> names_;
};

/// Parameters, macros, arguments and so on of one kernel; more are taken for a mistake.
inline constexpr std::size_t kMostParts = 256;
/// Kernels that a configuration launches.
inline constexpr std::size_t kMostKernels = 16;
/// Constraints and problems.
inline constexpr std::size_t kMostEntries = 10000;
/// Characters of a name.
inline constexpr std::size_t kLongestName = 1024;

// Each of these throws UserError with what was found and what was expected.

/// Not empty.
std::string read_string(const JsonNode& node, const std::string& expected = "a string");
/// Check a key of the writer's own as read_identifier() and read_qualified_name() do. Throw UserError.
void check_identifier(const std::string& text, const Where& where);
void check_qualified_name(const std::string& text, const Where& where);
bool read_boolean(const JsonNode& node);
/// Floats with an integral value count as integers, as they do for JSON Schema.
std::int64_t read_integer(const JsonNode& node, std::int64_t min = 0,
                          std::int64_t max = std::numeric_limits<std::int64_t>::max());
/// A finite one.
double read_number(const JsonNode& node, const Bounds<double>& bounds = {});
/// A boolean, number or string: `element` names it in messages ("a value of a parameter").
Value read_value(const JsonNode& node, const std::string& element);
/// A string that is not blank, or a number or boolean, which stands for its own text.
ExprText read_expression(const JsonNode& node);

enum class Empty { refused, allowed };
/// `elements` is the plural for messages: "problems". Longer than `most` it is taken for a mistake.
std::vector<JsonNode> read_list(const JsonNode& node, const std::string& elements,
                                Empty empty = Empty::refused, std::size_t most = kMostParts);
/// The members of an object whose keys are the writer's own, at most kMostParts.
std::vector<std::pair<std::string, JsonNode>> read_members(const JsonNode& node, const std::string& expected);
/// At most kMostParts.
std::vector<std::string> read_strings(const JsonNode& node, const std::string& elements);

/// Makes nvcc's options NVRTC's. Options about the host compiler, the linker, the architecture or nvcc
/// itself, and those that NVRTC does not need, become empty. A value in the next element joins its option,
/// and that element becomes empty. C++11 and earlier become C++14. Others stay, unchecked. Returns what is
/// left out.
std::vector<std::string> take_nvcc_options(std::vector<std::string>& options);
/// One to three expressions; missing ones are "1".
std::array<ExprText, 3> read_extent(const JsonNode& node);

template <typename T, typename Range>
bool is_among(const T& value, const Range& range) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

/// A member of each element: their names.
template <typename Range, typename Member>
std::vector<std::string> names_of(const Range& range, Member member) {
  std::vector<std::string> names;
  for (const auto& element : range) names.emplace_back(std::invoke(member, element));
  return names;
}

/// The position of a name among those that are known. Throws UserError for another, with the nearest.
std::size_t find_known(const std::string& name, std::span<const std::string> known, const Where& where,
                       const std::string& message, const std::string& remedy = "Rename or remove it.");

/// The index of the choice that the string names.
std::size_t read_choice(const JsonNode& node, std::span<const std::string> choices);

/// How all values of an enumeration are written.
template <Spelled Enum>
std::vector<std::string> spellings() {
  std::vector<std::string> names;
  for (const Named<Enum>& entry : kSpellings<Enum>) names.emplace_back(entry.name);
  return names;
}

template <Spelled Enum>
Enum read_enum(const JsonNode& node) {
  return kSpellings<Enum>[read_choice(node, spellings<Enum>())].value;
}

/// Throws the UserError of a value that is not of the kind expected: "found a string, expected a list of
/// problems".
[[noreturn]] void refuse_kind(const JsonNode& node, const std::string& expected,
                              const std::string& remedy = {});

/// An object with the keys of one list.
template <typename Struct, typename Keys, typename... Context>
Struct read_object(const JsonNode& node, const Keys& keys, const Context&... context) {
  ObjectReader reader(node, key_names(keys));
  Struct object;
  reader.read(keys, object, context...);
  reader.finish();
  return object;
}

/// A value of a type that is always read in the same way.
template <typename T>
T read_as(const JsonNode& node, const typename BoundsOf<T>::type& bounds = {});

template <typename Key, typename Struct, typename... Context>
void ObjectReader::read_key(const Key& key, Struct& object, const Context&... context) {
  if constexpr (requires { key.bounds; }) {
    using T = std::remove_cvref_t<decltype(object.*key.member)>;
    if (const auto node = find(key.name)) object.*key.member = read_as<T>(*node, key.bounds);
  } else if constexpr (requires { key.read; }) {
    using T = std::remove_cvref_t<decltype(object.*key.member)>;
    const auto node = key.expected == nullptr ? find(key.name) : need(key.name, key.expected);
    if (!node) return;
    if constexpr (std::is_same_v<decltype(key.read), ByType>)
      object.*key.member = read_as<T>(*node);
    else if constexpr (std::is_invocable_v<decltype(key.read), const JsonNode&>)
      object.*key.member = key.read(*node);
    else
      object.*key.member = key.read(*node, context...);
  }
}

/// Expressions, at least one.
std::vector<ExprText> read_expressions(const JsonNode& node);

template <typename T>
struct Inner {
  using type = T;
};
template <typename T>
struct Inner<std::optional<T>> {
  using type = T;
};

template <typename T>
T read_as(const JsonNode& node, const typename BoundsOf<T>::type& bounds) {
  using Plain = typename Inner<T>::type;
  if constexpr (std::is_same_v<Plain, bool>) {
    return read_boolean(node);
  } else if constexpr (std::is_floating_point_v<Plain>) {
    return read_number(node, bounds);
  } else if constexpr (std::is_integral_v<Plain>) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    const auto max = std::cmp_less(bounds.max, kMost) ? static_cast<std::int64_t>(bounds.max) : kMost;
    return static_cast<Plain>(read_integer(node, static_cast<std::int64_t>(bounds.min), max));
  } else if constexpr (Spelled<Plain>) {
    return read_enum<Plain>(node);
  } else if constexpr (HasFields<Plain>) {
    return read_object<Plain>(node, Plain::fields());
  } else if constexpr (std::is_same_v<Plain, ExprText>) {
    return read_expression(node);
  } else if constexpr (std::is_same_v<Plain, std::vector<ExprText>>) {
    return read_expressions(node);
  } else if constexpr (std::is_same_v<Plain, std::array<ExprText, 3>>) {
    return read_extent(node);
  } else if constexpr (std::is_same_v<Plain, std::vector<std::string>>) {
    return read_strings(node, "NVRTC options");
  } else if constexpr (requires { requires Spelled<typename Plain::value_type>; }) {
    Plain values;
    for (const JsonNode& one : read_list(node, "names", Empty::allowed))
      values.push_back(read_enum<typename Plain::value_type>(one));
    return values;
  } else {
    static_assert(std::is_same_v<Plain, std::string>, "name what reads it");
    return read_string(node);
  }
}

}  // namespace tiletune
