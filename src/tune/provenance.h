#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "measure/messages.h"

namespace tiletune {

/// Now, in UTC: "2026-11-21T10:00:00Z".
std::string utc_now();
/// The commit that the checkout around a folder is on, as 40 or 64 hexadecimal digits; empty outside a git
/// checkout, and where git's files are not as git writes them. Reads regular files inside .git only (of a
/// worktree, inside the repository that lists it), and runs nothing. A submodule has no such list: nothing.
std::string git_commit(const std::filesystem::path& folder);

/// Hashes of the files that inputs and expected outputs lie in. A version of a file is hashed once.
class ArrayHashes {
 public:
  /// Hashes what the files of a workload hold, buffer by buffer; empty where it has none. Throws UserError
  /// when one cannot be read, or has changed since it was checked.
  std::string hash_of(const Workload& workload);

 private:
  std::map<std::tuple<std::string, std::optional<FileVersion>, std::uint64_t>, std::string> by_file_;
};

/// Hash of a function of Python: its name, its file, and the modules that the file may import from its own
/// folder: files *.py there and below, but for hidden folders and virtual environments. Throws UserError when
/// these are too many.
std::string hash_of_python(const PythonReference& reference);

}  // namespace tiletune
