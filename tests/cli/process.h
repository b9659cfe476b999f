#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
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
  /// Starts `tiletune ARGUMENTS` and returns at once. `in_child` runs in the new process right before.
  pid_t start(const std::vector<std::string>& arguments, const std::function<void()>& in_child = {}) const;
  Finished wait(pid_t process) const;
  Finished run(const std::vector<std::string>& arguments) const { return wait(start(arguments)); }

  /// Writes a template `tiny` (a macro kernel over the values of V) and a config of it; returns the config's
  /// path.
  std::string write_tiny_space(int configurations, const std::string& more_of_the_config = "") const;

 private:
  std::filesystem::path folder_;
};

/// Waits for a condition; false when it did not come true in time. A UserError, as of a database that is not
/// there yet, counts as false.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds patience = std::chrono::seconds(60));

/// From now on processes whose parents die become children of this one.
void adopt_orphans();
/// Reaps such processes; false when some have not ended after a few seconds.
bool no_orphans();

}  // namespace tiletune
