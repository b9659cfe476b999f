#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/process.h"
#include "store/database.h"

namespace tiletune {

/// Arguments that replace the GPU workers by fake ones that misbehave as `mode` says.
std::vector<std::string> fake_gpu_workers(const std::string& mode, int strikes_at = 3);
/// `sweep CONFIG --db results.db` with them.
std::vector<std::string> sweep_with(const std::string& config, const std::string& mode, int strikes_at = 3);
/// The same with --quiet and more arguments.
std::vector<std::string> measured_sweep(const std::string& config, const std::string& mode,
                                        int strikes_at = 3, const std::vector<std::string>& more = {});

/// Compiles a config's kernels for the fake GPUs, so that a sweep of it does not depend on how long that
/// takes.
void warm_kernel_cache(const Sandbox& sandbox, const std::string& config);

std::vector<Trial> rows_of(const Sandbox& sandbox, const std::string& database = "results.db");
std::int64_t kernels_with(const std::vector<Trial>& rows, Outcome outcome);

/// More of a config: its best configurations are not measured again.
inline const std::string kNoFinals = R"(, "measure": {"finals": {"configurations": 0}})";

/// Fails the test unless the database is sound and holds so many kernels, each once, all ok, one baseline,
/// and a twin of the fastest kernel, which the finals have left.
void expect_complete(const Sandbox& sandbox, int configurations, const std::string& database = "results.db");

}  // namespace tiletune
