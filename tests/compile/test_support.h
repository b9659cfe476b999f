#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compile/pool.h"
#include "temporary_folder.h"
#include "user_error_of.h"

namespace tiletune {

/// A kernel template `scale<FACTOR>`; `extra` goes in front of it.
CompileRequest scale_request(int factor, const std::string& extra = "",
                             const std::string& architecture = "sm_80");

/// Runs the pool until nothing is pending, as the tuning loop does: sleeping in poll between events.
std::map<std::uint64_t, Compiled> drain(CompilePool& pool);

/// A pool whose workers are this test executable with the given arguments.
CompilePoolOptions pool_options(const std::filesystem::path& cache_folder, int workers,
                                const std::vector<std::string>& arguments = {"compile-worker"});

}  // namespace tiletune
