#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tiletune {

/// Measures the configuration of this process's own 'bench' command again under each of these tools of
/// compute-sanitizer, with a copy of the database, and prints what they find. Returns how many of them found
/// something. Throws UserError if a tool is none of compute-sanitizer's, or if that is not installed.
int run_sanitizers(const std::vector<std::string>& tools, const std::filesystem::path& database);

}  // namespace tiletune
