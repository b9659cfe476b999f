#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tiletune {

/// Throws UserError if a tool is none of compute-sanitizer's, or if that is not installed.
void check_sanitizers(const std::vector<std::string>& tools);

/// Re-runs this process's own 'bench' command under each of these compute-sanitizer tools, on a copy of the
/// database, which must be closed, and writes their findings with `write`. `settings` are values of --set
/// that stand for --best. Returns how many tools found errors, or did not see the configuration run to its
/// end; kInterrupted if a person ended it.
int run_sanitizers(const std::vector<std::string>& tools, const std::filesystem::path& database,
                   const std::vector<std::string>& settings,
                   const std::function<void(const std::string&)>& write);

}  // namespace tiletune
