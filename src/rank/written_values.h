#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rank/parameters.h"
#include "rank/sides.h"

namespace tiletune {

/// A parameter whose values are written in several ways, which count as one: 1, 1.0 and true.
struct WrittenValues {
  std::string template_name;
  std::string parameter;
  std::map<Writing, std::set<std::size_t>> sides;  ///< at least two ways; places of the sides
};

/// By template and parameter, ascending.
std::vector<WrittenValues> values_in_several_writings(const std::vector<Side>& sides);

/// "boolean", "integer", "float".
const char* name(Writing writing);

}  // namespace tiletune
