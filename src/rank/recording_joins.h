#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "store/database.h"

namespace tiletune {

/// How rows of one kernel and problem belong together where their recordings list different parameters: the
/// one with fewer was made with the others fixed.
struct Join {
  std::string gpu;        ///< whose rows list fewer parameters
  std::string other_gpu;  ///< whose rows list these and more
  std::vector<std::string> shared;
  std::vector<std::string> missing;   ///< listed by the other alone
  std::string fixed;                  ///< their values that match best, "use_shmem=1 use_cmem=1"
  std::uint64_t configurations = 0;   ///< of the first
  std::uint64_t matched = 0;          ///< of these, found among the other's with these values
  std::uint64_t matched_at_most = 0;  ///< found among the other's with any values
};

/// For every two GPUs, one at least of `gpus`, whose recordings of this kernel and problem differ so.
std::vector<Join> find_joins(const Database& database, const std::string& kernel, const std::string& problem,
                             const std::set<std::string>& gpus);

}  // namespace tiletune
