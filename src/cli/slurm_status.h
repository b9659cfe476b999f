#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/spelling.h"

namespace tiletune {

/// What has become of a shard.
enum class ShardState {
  waiting,  ///< it has not begun
  queued,   ///< Slurm will start it, perhaps again
  running,
  stopped,  ///< it began, left no result, and Slurm does not know it any more
  failed,   ///< it ended with an error
  done
};
template <>
inline constexpr std::array<Named<ShardState>, 6> kSpellings<ShardState>{{{ShardState::waiting, "waiting"},
                                                                          {ShardState::queued, "queued"},
                                                                          {ShardState::running, "running"},
                                                                          {ShardState::stopped, "stopped"},
                                                                          {ShardState::failed, "failed"},
                                                                          {ShardState::done, "done"}}};

struct ShardStatus {
  std::uint64_t shard = 1;
  ShardState state = ShardState::waiting;
  std::string node;       ///< where it began last
  std::int64_t rows = 0;  ///< in its database
  std::string reason;     ///< of failed: what it printed last
};

/// A task of an array that Slurm knows.
struct QueuedTask {
  std::string job;  ///< the array's number
  std::uint64_t task = 0;
  std::string state;  ///< "PD", "R", "CG"
};

/// What squeue lists of this user's arrays; none where it is not there or does not answer.
std::optional<std::vector<QueuedTask>> queued_tasks();

/// What the files of an array say: FOLDER/shards/N.db, N.started, N.exit and N.log.
std::vector<ShardStatus> shard_states(const std::filesystem::path& folder, std::uint64_t shards,
                                      const std::optional<std::vector<QueuedTask>>& queued);

/// "3-5,7"
std::string ranges_text(const std::vector<std::uint64_t>& numbers);

}  // namespace tiletune
