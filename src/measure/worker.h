#pragma once

#include <filesystem>
#include <set>
#include <vector>

namespace tiletune {

/// Files and folders that a confined GPU worker needs besides the system's.
struct WorkerReach {
  std::set<std::filesystem::path> readable;
  std::set<std::filesystem::path> writable;
};

/// The body of the hidden `gpu-worker` subcommand: holds one GPU, or several that compute problems together,
/// prepares problems and measures configurations as the parent asks over the channel. It announces the first
/// of several; where others are not there, it can do no more than that. With `must_be_confined` it ends where
/// the system cannot confine it; what lies in `reach` stays within its reach. Returns the exit code.
int run_gpu_worker(const std::vector<int>& devices, bool must_be_confined, const WorkerReach& reach);

}  // namespace tiletune
