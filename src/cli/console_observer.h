#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/system.h"
#include "cli/common.h"
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
  /// Rows of this sweep are not lost to other programs that write, unless it is interrupted; nor, for long,
  /// once `budget_s` from now are over (0: never). The database is not written after this object's end.
  void wait_for_others(Database& database, double budget_s = 0) {
    const auto begun = std::chrono::steady_clock::now();
    const auto tell = [this, &database] {
      on_note(fmt::format("another program is writing {}: waiting until it has ended; interrupt to stop",
                          database.file().string()));
    };
    database.wait_for_others(tell, [begun, budget_s](std::chrono::steady_clock::duration waited) {
      constexpr std::chrono::seconds kPatience{10};
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun;
      return interrupted() || (budget_s > 0 && elapsed.count() >= budget_s && waited >= kPatience);
    });
  }

  /// Says how a database is written that lies on a network file system.
  void tell_of_journal(const std::filesystem::path& database) {
    const std::string kind = network_file_system(database);
    if (kind.empty()) return;
    on_note(
        fmt::format("{} is on a network file system ({}), where SQLite's write-ahead log is unsafe: it is "
                    "written through a "
                    "rollback journal, which is slower. A database on a local disk avoids that",
                    database.string(), kind));
  }

 private:
  Progress progress_;
};

}  // namespace tiletune
