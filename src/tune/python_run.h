#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/worker_process.h"
#include "spec/npy.h"
#include "tune/task.h"

namespace tiletune {

/// The type of the numbers that a function gets for a buffer: NumPy has none for bf16 and fp8, whose values
/// f32 holds.
ElementType numpy_type_of(ElementType type);

/// What a Python worker makes, and which Python it becomes then.
struct PythonWork {
  /// A file of generated values.
  struct Input {
    std::string path;
    Workload::SizedBuffer buffer;
    std::uint64_t seed = 0;

    static constexpr auto fields() { return fields_of<&Input::path, &Input::buffer, &Input::seed>(); }
  };
  /// A file that Python writes.
  struct Output {
    std::string path;
    std::uint64_t bytes = 0;

    static constexpr auto fields() { return fields_of<&Output::path, &Output::bytes>(); }
  };

  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<std::string> readable;  ///< files and folders, wherever links lead
  /// Untrusted files and folders, whose paths were resolved: a link in one means that it was exchanged
  /// since.
  std::vector<std::string> readable_without_links;
  std::vector<std::string> command;  ///< the executable and its arguments
  std::uint64_t memory_bytes = 0;

  static constexpr std::string_view kMessage = "python";
  static constexpr auto fields() {
    using W = PythonWork;
    return fields_of<&W::inputs, &W::outputs, &W::readable, &W::readable_without_links, &W::command,
                     &W::memory_bytes>();
  }
};

/// The only message of a Python worker: it becomes Python now, whose function is not to write more.
struct PythonStarts {
  std::string failure;  ///< why it does not; empty where it does
  std::string remedy;

  static constexpr std::string_view kMessage = "starts";
  static constexpr auto fields() { return fields_of<&PythonStarts::failure, &PythonStarts::remedy>(); }
};

/// The body of the hidden `python-worker` subcommand: makes the files of the work that comes by its channel,
/// confines itself and becomes Python, which keeps the channel open to its end. Returns only where that does
/// not succeed, the exit code.
int run_python_worker();

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
  /// When poll() is to be called at the latest: it also counts the threads.
  Clock::time_point deadline() const {
    return std::min(deadline_, Clock::now() + std::chrono::milliseconds(50));
  }

 private:
  std::optional<PythonAnswer> take_messages();
  PythonAnswer end();

  const PythonReference& reference_;
  std::filesystem::path folder_;
  PythonWork work_;
  std::optional<WorkerProcess> process_;
  bool is_running_ = false;  ///< the function; before that its inputs are made
  Clock::time_point deadline_;
};

}  // namespace tiletune
