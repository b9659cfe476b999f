#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
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
  /// Throws UserError for the first member that was never asked for.
  void finish(const std::string& remedy = "Remove it.") const;

 private:
  JsonNode node_;
  std::span<const std::string_view> known_;
  std::set<std::string, std::less<>> asked_;
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
/// Letters, digits and underscores, not starting with a digit, at most kLongestName of them.
std::string read_identifier(const JsonNode& node);
/// One that may stand in namespaces: "foo::scale".
std::string read_qualified_name(const JsonNode& node);
/// The same for a key of the writer's own. Throws UserError.
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
/// One to three expressions; missing ones are "1".
std::array<ExprText, 3> read_extent(const JsonNode& node);

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

}  // namespace tiletune
