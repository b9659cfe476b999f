#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/sweep_report.h"
#include "spec/tune_spec.h"
#include "tune/stage.h"

namespace tiletune {

struct ReplayOptions {
  std::filesystem::path recording;  ///< a database
  std::filesystem::path database;   ///< for the replayed rows; empty: they are not kept
  std::string gpu;                  ///< part of the recorded GPU's name; empty: there is only one
  SweepOptions sweep;
  bool quiet = false;
};

/// Sweeps with the answers of a recording, and prints how far that came: the ranking of what was tried and a
/// sentence per problem, or as JSON the curve of each. Returns the exit code. Throws UserError when the file
/// holds nothing to replay or is the database to write to, NothingToDo when nothing ran.
int run_replay(const TuneSpec& spec, std::vector<Stage> stages, const ReplayOptions& options,
               const SweepView& view);

}  // namespace tiletune
