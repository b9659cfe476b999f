#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "output/progress.h"
#include "store/database.h"
#include "tune/sweep.h"

namespace tiletune {

/// Shows a sweep's progress on standard error.
class ConsoleObserver : public SweepObserver {
 public:
  explicit ConsoleObserver(bool quiet) : progress_(quiet, ::isatty(STDERR_FILENO) != 0) {}
  void on_progress(const ProgressState& state) override { progress_.update(state); }
  void on_note(const std::string& line) override { progress_.note(line); }
  void finish() { progress_.finish(); }
  /// Rows of this sweep are not lost to other programs that write. The database is not written after this
  /// object's end.
  void wait_for_others(Database& database) {
    database.wait_for_others([this, &database] {
      on_note(
          fmt::format("another program is writing {}: waiting until it has ended", database.file().string()));
    });
  }

 private:
  Progress progress_;
};

}  // namespace tiletune
