#pragma once

#include <filesystem>
#include <string>

namespace tiletune {

/// Now, in UTC: "2026-11-21T10:00:00Z".
std::string utc_now();
/// The commit that the checkout around a folder is on, as 40 or 64 hexadecimal digits; empty outside a git
/// checkout, and where git's files are not as git writes them. Reads regular files inside .git only (of a
/// worktree, inside the repository that lists it), and runs nothing. A submodule has no such list: nothing.
std::string git_commit(const std::filesystem::path& folder);

}  // namespace tiletune
