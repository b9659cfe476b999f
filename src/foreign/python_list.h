#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/value.h"

namespace tiletune {

/// A list as Python writes it: "[16, 32]", "(0.5, -1)", "['a', \"b\"]", "[True, False]", "range(1, 9)",
/// "[1, 2] + list(range(32, 1024 + 1, 32))", "[2**i for i in range(6)]". Elements are expressions as in
/// constraints, without names. Throws UserError, with the column or the element, for anything else: nothing
/// of Python is run.
std::vector<Value> parse_python_list(const std::string& text, const Where& where);

}  // namespace tiletune
