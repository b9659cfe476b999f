#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tiletune {

/// What a run of the executable left behind.
struct Finished {
  int code = 0;  ///< exit code, or 128 + signal
  std::string out;
  std::string err;
};

/// A folder of a test's own, removed at its end, with a cache of its own. Commands run in it.
class Sandbox {
 public:
  Sandbox();
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const;
  /// Starts `tiletune ARGUMENTS` and returns at once.
  pid_t start(const std::vector<std::string>& arguments) const;
  Finished wait(pid_t process) const;
  Finished run(const std::vector<std::string>& arguments) const { return wait(start(arguments)); }

  /// Writes a template `tiny` (a macro kernel over the values of V) and a config of it; returns the config's
  /// path.
  std::string write_tiny_space(int configurations, const std::string& more_of_the_config = "") const;

 private:
  std::filesystem::path folder_;
};

}  // namespace tiletune
