#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "spec/tune_spec.h"

namespace tiletune {

/// --shard I/N
CLI::Option* add_shard_option(CLI::App& command, std::string& text);

/// "3/16"; of "/16" the number is that of the Slurm array's task; empty: all. Throws UserError for what is no
/// shard.
void apply_shard(const std::string& text, Shard& shard);

inline constexpr std::uint64_t kMostShards = 1000000;

}  // namespace tiletune
