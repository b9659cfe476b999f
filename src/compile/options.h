#pragma once

#include <string>
#include <vector>

namespace tiletune {

/// Appends compile options; one that says again what an earlier one said replaces it, as NVRTC would do with
/// a warning. Those that only make the assembler print figures are left out: figures are read from the cubin.
void append_options(std::vector<std::string>& options, const std::vector<std::string>& more);

}  // namespace tiletune
