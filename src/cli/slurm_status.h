#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>

#include "cli/commands.h"

namespace tiletune {

/// In the folder of an array: what it is made of. It marks a folder whose files may be replaced.
inline constexpr const char* kSlurmPlan = "plan.json";

/// The line of a shard's log with which each task begins.
inline constexpr const char* kTaskBegins = "tiletune slurm: a task begins";

/// Adds `tiletune slurm status`. What it does is in the action that is returned.
Action add_slurm_status(CLI::App& slurm);

}  // namespace tiletune
