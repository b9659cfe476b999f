#pragma once

#include <string>
#include <vector>

namespace tiletune {

/// Appends compile options; one that says again what an earlier one said replaces it, as NVRTC would do with
/// a warning.
void append_options(std::vector<std::string>& options, const std::vector<std::string>& more);

}  // namespace tiletune
