#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/value.h"
#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// More values than this in one parameter are taken for a mistake.
inline constexpr std::size_t kMostValues = 100000;

/// The values that a config gives for `parameter`: some of those listed, or any of their type when `extend`
/// is true.
std::vector<Value> read_narrowed_values(const JsonNode& node, const Parameter& parameter, bool extend);

/// The text as a value of the parameter's type: `true`, `128`, `0.5`, `float`. Throws UserError.
Value parse_value(const std::string& text, const Parameter& parameter, const Where& where);

/// Equal keys are equal values; long double holds every int64 and every double.
using ValueKey = std::variant<bool, long double, std::string>;

/// Finds values among those of a parameter, 1.0 where it has 1.
class ValuePositions {
 public:
  explicit ValuePositions(const Parameter& parameter);

  /// The position of the value that the text says. Throws UserError when the parameter does not have it.
  std::uint32_t find(const std::string& text, const Where& where) const;

 private:
  Parameter parameter_;
  std::map<ValueKey, std::uint32_t> positions_;
};

}  // namespace tiletune
