#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "compile/pool.h"
#include "temporary_folder.h"

namespace tiletune {

/// A kernel template `scale<FACTOR>`; `extra` goes in front of it.
CompileRequest scale_request(int factor, const std::string& extra = "",
                             const std::string& architecture = "sm_80");

/// Runs the pool until nothing is pending, as the tuning loop does: sleeping in poll between events.
std::map<std::uint64_t, Compiled> drain(CompilePool& pool);

/// A pool whose workers are this test executable with the given arguments.
CompilePoolOptions pool_options(const std::filesystem::path& cache_folder, int workers,
                                const std::vector<std::string>& arguments = {"compile-worker"});

/// The UserError that `action` throws; fails the test when it throws none.
template <typename Action>
UserError user_error_of(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error;
  }
  return {"no UserError was thrown", ""};
}

}  // namespace tiletune
