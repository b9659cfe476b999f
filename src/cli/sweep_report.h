#pragma once

#include "cli/common.h"
#include "cli/gpus.h"
#include "output/progress.h"
#include "tune/sweep.h"

namespace tiletune {

/// Shows a sweep's progress on standard error.
class ConsoleObserver : public SweepObserver {
 public:
  explicit ConsoleObserver(bool quiet);
  void on_progress(const ProgressState& state) override { progress_.update(state); }
  void on_note(const std::string& line) override { progress_.note(line); }
  void finish() { progress_.finish(); }
  /// Rows of this sweep are not lost to other programs that write, unless it is interrupted; nor, for long,
  /// once `budget_s` from now are over (0: never). The database is not written after this object's end.
  void wait_for_others(Database& database, double budget_s = 0);
  /// Says how a database is written that lies on a network file system.
  void tell_of_journal(const std::filesystem::path& database);

 private:
  Progress progress_;
};

/// Where it runs: "tiletune 0.2.0: NVIDIA H200, sm_90a, 132 multiprocessors; driver ...", or what is
/// predicted for, and why.
std::string headline(const ChosenGpus& gpus);
/// How large the space of one set of GPUs is.
std::string space_line(const std::vector<Task>& tasks, const TuneSpec& spec);
/// Says of each problem that was not completely tried how much of it was, and what ended it.
std::string untried_lines(const SweepSummary& summary);
/// Where a template's error bound comes from: "2 u + 2 sqrt(K) u, u: the unit roundoff of f32".
std::string error_bound_text(const TemplateSpec& spec);

struct SweepView {
  Format format = Format::table;
  std::size_t limit = 20;  ///< kernels per problem; 0: all
};

/// Prints how a sweep went, what it found, and what to do next. Returns the exit code; rethrows what ended
/// the sweep early, and throws NothingToDo when nothing ran.
int report_sweep(const TuneSpec& spec, const Database& database, const SweepSummary& summary,
                 const SweepView& view);

struct ReplayOptions {
  std::filesystem::path recording;  ///< a database, or what import reads
  std::filesystem::path database;   ///< for the replayed rows; empty: they are not kept
  std::string gpu;                  ///< part of the recorded GPU's name; empty: there is only one
  std::uint64_t repeat = 1;         ///< runs with seeds one after the other
  bool asks_for_seconds = false;    ///< the command line has a budget of time, which must then be kept
  bool skip_bad = false;            ///< leave out rows of the database that cannot be read
  SweepOptions sweep;
  bool quiet = false;
};

/// Sweeps with the answers of a recording, and prints how far that came: the ranking of what was tried and a
/// sentence per problem, or as JSON the curve of each; of several runs quartiles instead. Returns the exit
/// code. Throws UserError when the file holds nothing to replay or is the database to write to, NothingToDo
/// when nothing ran.
int run_replay(TuneSpec spec, const ReplayOptions& options, const SweepView& view);

}  // namespace tiletune
