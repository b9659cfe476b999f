#pragma once

#include <unistd.h>

#include <string>

#include "output/progress.h"
#include "tune/sweep.h"

namespace tiletune {

/// Shows a sweep's progress on standard error.
class ConsoleObserver : public SweepObserver {
 public:
  explicit ConsoleObserver(bool quiet) : progress_(quiet, ::isatty(STDERR_FILENO) != 0) {}
  void on_progress(const ProgressState& state) override { progress_.update(state); }
  void on_note(const std::string& line) override { progress_.note(line); }
  void finish() { progress_.finish(); }

 private:
  Progress progress_;
};

}  // namespace tiletune
