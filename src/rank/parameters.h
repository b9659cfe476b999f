#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/value.h"

namespace tiletune {

/// `visit` takes each member's name in their order, without its quotes, and its value as it is written. It is
/// quick, for a million rows: of text that is not JSON it makes something, too.
void for_each_member(std::string_view object,
                     const std::function<void(std::string_view name, std::string_view value)>& visit);

/// Equal for rows of one configuration.
using Identity = std::array<std::uint64_t, 2>;

/// Stands for a template and the values of its parameters, in whatever order, spacing and type they were
/// written: 1, 1.0 and true are one value, as they are to Python, which writes them as they come. No template
/// can list two of them for one parameter. Text that names no parameter stands for itself. As quick.
Identity identity_of(std::string_view template_name, std::string_view parameters);

/// Values that are found by how they are written.
class WrittenAs {
 public:
  /// `values` outlive it, where they are.
  explicit WrittenAs(const std::vector<Value>& values);
  /// The value that is written so in JSON, or is equal to it; null where it is none of them.
  const Value* find(std::string_view written) const;

 private:
  std::unordered_map<std::string, const Value*> values_;  ///< by how identities know them
};

}  // namespace tiletune
