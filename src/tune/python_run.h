#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/worker_process.h"
#include "spec/npy.h"
#include "tune/python_worker.h"
#include "tune/task.h"

namespace tiletune {

/// The outputs of a task's operation as its function of Python leaves them: where, and of which type.
std::vector<std::pair<std::string, ArrayFile>> python_outputs(const Task& task);
/// Removes them: nobody compares with them any more.
void remove_python_outputs(const Task& task);

/// How a run ended.
struct PythonAnswer {
  std::string reason = {};  ///< why there is no reference; empty: its files are there
  std::string remedy = "Correct the function.";
};

/// One run of an operation's function of Python, which writes the files of python_outputs(). It is always
/// confined: it reads the folder of its file and Python's own, and writes those files.
class PythonRun {
 public:
  /// Starts a worker that makes the inputs, of that seed, and calls the function. Throws UserError when there
  /// is no Python with NumPy, it cannot be confined here, or the files do not fit on the disk.
  PythonRun(const Task& task, std::uint64_t seed);

  /// None while it runs. What only the function needed is removed at the end; not to be called again then.
  std::optional<PythonAnswer> poll();
  /// Until poll() may have more to say, or a moment has passed.
  void wait() const;
  int fd() const { return process_->fd(); }
  Clock::time_point deadline() const { return deadline_; }

 private:
  std::optional<PythonAnswer> take_messages();
  PythonAnswer end();
  std::string written_answer() const;

  const PythonReference& reference_;
  std::filesystem::path folder_;
  PythonWork work_;
  std::optional<WorkerProcess> process_;
  bool is_running_ = false;  ///< the function; before that its inputs are made
  Clock::time_point deadline_;
};

}  // namespace tiletune
