#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/expect_error.h"
#include "cli/process.h"

// For tests that build and run what `tiletune export` writes.

namespace tiletune::exported {

inline constexpr std::size_t kLargestFile = std::size_t{16} << 20;
inline const std::string kStrict = "-Wall -Wextra -Werror";

inline bool is_there(const std::string& command) {
  return std::system(("command -v " + command + " > /dev/null 2>&1").c_str()) == 0;
}

/// Runs a command line in the sandbox.
inline Finished shell(const Sandbox& sandbox, const std::string& command) {
  const int status = std::system(
      fmt::format("cd '{}' && ({}) > shell.out 2> shell.err", sandbox.folder().string(), command).c_str());
  return {WEXITSTATUS(status), read_file(sandbox.folder() / "shell.out", kLargestFile),
          read_file(sandbox.folder() / "shell.err", kLargestFile)};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline void change(const Sandbox& sandbox, const std::string& database, const std::string& statement,
                   const std::vector<std::string>& values = {}) {
  SQLite::Database file((sandbox.folder() / database).string(), SQLite::OPEN_READWRITE);
  SQLite::Statement query(file, statement);
  for (std::size_t i = 0; i < values.size(); ++i) query.bind(static_cast<int>(i) + 1, values[i]);
  query.exec();
}

/// Keeps the rows that a condition names.
inline void keep(const Sandbox& sandbox, const std::string& database, const std::string& condition) {
  change(sandbox, database, "DELETE FROM trial WHERE NOT (" + condition + ")");
  change(sandbox, database, "DELETE FROM sweep_trial WHERE trial_id NOT IN (SELECT id FROM trial)");
}

inline std::string text_in(const Sandbox& sandbox, const std::string& file) {
  return read_file(sandbox.folder() / file, kLargestFile);
}

}  // namespace tiletune::exported
