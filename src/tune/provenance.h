#pragma once

#include <filesystem>
#include <string>

namespace tiletune {

/// Now, in UTC: "2026-11-21T10:00:00Z".
std::string utc_now();
std::string host_name();
/// The commit that the checkout around a folder is on; empty outside a git checkout. Reads git's files, runs
/// nothing.
std::string git_commit(const std::filesystem::path& folder);

}  // namespace tiletune
