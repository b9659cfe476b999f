#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tiletune {

struct QuotedInclude {
  std::string name;
  std::size_t line;  ///< from 1
};

/// Every `#include "name"` of a source text outside comments, whether or not a conditional disables it.
std::vector<QuotedInclude> quoted_includes(std::string_view text);

}  // namespace tiletune
