#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "base/worker_process.h"
#include "space/instance.h"
#include "tune/standings.h"

namespace tiletune {

struct GpuSlot;

/// A configuration that takes part in finals. Its ticket is its place, counted from 1.
struct Finalist {
  /// What these finals have found against it.
  struct Fault {
    Outcome outcome = Outcome::crashed;
    std::string reason;
    const GpuSlot* slot = nullptr;  ///< where; null once it is confirmed, and the row does not rank
  };

  StandingsEntry entry;
  Instance instance;
  bool suspect = false;  ///< a GPU lost its worker with it
  std::optional<Fault> fault;
};

/// How far the finals of one workload have come.
struct WorkloadFinals {
  enum class State {
    pending,    ///< the workload is not through, or it is not decided whether it needs any
    compiling,  ///< binaries that are missing
    ready,      ///< for a GPU
    running,
    over
  };

  State state = State::pending;
  std::vector<Finalist> finalists;                 ///< the leader first
  std::map<std::uint64_t, std::size_t> compiling;  ///< finalists by ticket of the compile pool
  bool without_kernel_baselines = false;           ///< one of them may have ended a worker
  const GpuSlot* lost_on = nullptr;                ///< where a worker was lost with them last
  const GpuSlot* slot = nullptr;                   ///< where they are run
  Clock::time_point begun;                         ///< there
  std::uint64_t turns = 0;                         ///< taken there so far
  int repetitions = 0;

  /// Of those without a fault; null when there is none.
  const Finalist* leader() const;
  /// Null when the ticket is of none.
  Finalist* finalist(std::uint64_t ticket);
  const Finalist* finalist(std::uint64_t ticket) const;
};

}  // namespace tiletune
