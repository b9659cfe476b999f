#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "base/worker_process.h"
#include "spec/npy.h"
#include "tune/task.h"

namespace tiletune {

/// The outputs of a task's operation as its function of Python leaves them: where, and of which type.
std::vector<std::pair<std::string, ArrayFile>> python_outputs(const Task& task);

/// How a run ended.
struct PythonAnswer {
  std::string reason = {};  ///< why there is no reference; empty: its files are there
  std::string remedy = "Correct the function.";
};

/// One run of an operation's function of Python, which writes the files of python_outputs(). It runs confined
/// where the system can do that: it reads the folder of its file and Python's own, and writes those files.
class PythonRun {
 public:
  /// Makes the inputs, of that seed, and starts. Throws UserError when there is no Python with NumPy, or the
  /// files cannot be written or do not fit on the disk; Stopped when `stop` says so before all inputs are
  /// made.
  PythonRun(const Task& task, std::uint64_t seed, bool must_be_confined, const Stop& stop);

  /// None while it runs.
  std::optional<PythonAnswer> poll();
  /// Until poll() may have more to say, or a moment has passed.
  void wait() const;
  int fd() const { return process_->fd(); }
  Clock::time_point deadline() const { return deadline_; }

 private:
  PythonAnswer answer();

  const PythonReference& reference_;
  std::filesystem::path answer_;
  std::optional<WorkerProcess> process_;
  Clock::time_point deadline_;
};

/// The body of the hidden `python-worker` subcommand: confines itself and becomes Python. `task` is the file
/// that the runner reads. Does not return where that succeeds; the exit code where it does not.
int run_python_worker(const std::filesystem::path& task);

}  // namespace tiletune
