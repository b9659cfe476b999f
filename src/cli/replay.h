#pragma once

#include <filesystem>
#include <string>

#include "cli/sweep_report.h"
#include "spec/tune_spec.h"

namespace tiletune {

struct ReplayOptions {
  std::filesystem::path recording;  ///< a database, or what import reads
  std::filesystem::path database;   ///< for the replayed rows; empty: they are not kept
  std::string gpu;                  ///< part of the recorded GPU's name; empty: there is only one
  std::uint64_t repeat = 1;         ///< runs with seeds one after the other
  bool asks_for_seconds = false;    ///< the command line has a budget of time, which must then be kept
  SweepOptions sweep;
  bool quiet = false;
};

/// Sweeps with the answers of a recording, and prints how far that came: the ranking of what was tried and a
/// sentence per problem, or as JSON the curve of each; of several runs quartiles instead. Returns the exit
/// code. Throws UserError when the file holds nothing to replay or is the database to write to, NothingToDo
/// when nothing ran.
int run_replay(TuneSpec spec, const ReplayOptions& options, const SweepView& view);

}  // namespace tiletune
