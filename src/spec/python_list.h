#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"

namespace tiletune {

/// A list as Python writes it: "[16, 32]", "(0.5, -1)", "['a', \"b\"]", "[True, False]", "range(1, 9)",
/// "list(range(0, 64, 16))". Elements are integers, numbers, strings or booleans. Throws UserError, with the
/// column, for anything else: nothing of Python is run.
nlohmann::ordered_json parse_python_list(const std::string& text, const Where& where);

}  // namespace tiletune
