#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compile/pool.h"
#include "temporary_folder.h"
#include "user_error_of.h"

namespace tiletune {

/// A kernel template `scale<FACTOR>`; `extra` goes in front of it.
CompileRequest scale_request(int factor, const std::string& extra = "",
                             const std::string& architecture = "sm_80");

/// A pool whose requests have tickets, by which a test tells results apart.
class TicketPool : public CompilePool {
 public:
  using CompilePool::CompilePool;

  bool submit(std::uint64_t ticket, CompileRequest request) {
    return CompilePool::submit(std::move(request), [this, ticket](const Compiled& compiled) {
      finished_.emplace_back(ticket, compiled);
    });
  }
  std::vector<std::pair<std::uint64_t, Compiled>> take_finished() {
    deliver();
    return std::exchange(finished_, {});
  }

 private:
  std::vector<std::pair<std::uint64_t, Compiled>> finished_;
};

/// Runs the pool until nothing is pending, as the tuning loop does: sleeping in poll between events.
std::map<std::uint64_t, Compiled> drain(TicketPool& pool);

/// A pool whose workers are this test executable with the given arguments.
CompilePoolOptions pool_options(const std::filesystem::path& cache_folder, int workers,
                                const std::vector<std::string>& arguments = {"compile-worker"});

}  // namespace tiletune
