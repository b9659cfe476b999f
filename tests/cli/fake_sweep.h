#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/process.h"
#include "store/database.h"

namespace tiletune {

/// `sweep CONFIG --db results.db` with fake GPU workers that misbehave as `mode` says.
std::vector<std::string> sweep_with(const std::string& config, const std::string& mode, int strikes_at = 3);
/// The same with --quiet and more arguments.
std::vector<std::string> measured_sweep(const std::string& config, const std::string& mode,
                                        int strikes_at = 3, const std::vector<std::string>& more = {});

/// Of results.db.
std::vector<Trial> rows_of(const Sandbox& sandbox);
std::int64_t kernels_with(const std::vector<Trial>& rows, Outcome outcome);

}  // namespace tiletune
