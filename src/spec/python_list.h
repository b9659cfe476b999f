#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"

namespace tiletune {

/// A list as Python writes it: "[16, 32]", "(0.5, -1)", "['a', \"b\"]", "[True, False]", "range(1, 9)",
/// "[1, 2] + list(range(32, 1024 + 1, 32))", "[2**i for i in range(6)]". Elements are integers, numbers,
/// calculations with them (+ - * / // % **), strings or booleans. Throws UserError, with the column, for
/// anything else: nothing of Python is run.
nlohmann::ordered_json parse_python_list(const std::string& text, const Where& where);

}  // namespace tiletune
