#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/outcome.h"
#include "base/worker_process.h"
#include "compile/binary.h"
#include "space/instance.h"
#include "store/trial.h"
#include "tune/task.h"

namespace tiletune {

/// The fastest row so far of those that are screened against each other.
struct Leader {
  std::string key;
  double median_us = 0;
  double upper_us = 0;  ///< upper end of its 95% interval
  /// What it was known to take at most when others were screened against it: the finals may find it a little
  /// slower.
  double lowest_upper_us = 0;
};

/// A configuration that may take part in its workload's finals.
struct StandingsEntry {
  Task* task = nullptr;
  std::uint64_t index = 0;  ///< in the task's space
  std::string key;
  double first_us = 0;         ///< its median before any finals
  Leader time;                 ///< for as long as nobody is faster
  bool ranks = true;           ///< false: earlier finals found a fault; it only keeps its place
  std::int64_t finals_of = 0;  ///< the sweep whose finals timed it; 0: none has
  std::shared_ptr<const Binary> binary = nullptr;  ///< none for a reused row
};

/// A configuration that was given up as slower than its leader.
struct Screened {
  Task* task = nullptr;
  std::uint64_t index = 0;  ///< in the task's space
  double median_us = 0;
  std::int64_t sweep_id = 0;  ///< the one that measured it
};

/// Who takes part in a workload's finals.
struct Selection {
  std::vector<StandingsEntry> entries;  ///< all that rank, the leader first
  bool cut = false;                     ///< the policy would let more take part
};

/// The leaders of a queue's workloads and those close to them. It is decided by the times before any finals,
/// so that the finals of a sweep that is run again have the same finalists. Keeps a bounded number of each
/// workload's rows, and until its finals are over all those that were screened out; without finals none of
/// these.
class Standings {
 public:
  /// Whoever leads its template is not screened out `by_template`: then each has a leader of its own.
  Standings(const FinalsPolicy& policy, bool by_template) : policy_(policy), by_template_(by_template) {}

  /// Takes a row that was measured, in this sweep or before.
  void add(Task& task, std::uint64_t index, const Trial& row, std::shared_ptr<const Binary> binary);
  /// Whom a task's configurations are screened against.
  const Leader* leader(const Task& task) const;
  Selection selection(std::size_t workload) const;
  /// A row of the task was found to be faulty: whoever is the fastest without it leads. Returns those that
  /// were screened out and would not be by a factor of `screening` now; they count as not tried.
  std::vector<Screened> disqualify(const Task& task, const std::string& key, double screening);
  /// Drops a workload whose finals are over.
  void forget(std::size_t workload);

 private:
  using LeaderKey = std::pair<std::size_t, const Task*>;

  LeaderKey leader_key(const Task& task) const { return {task.workload, by_template_ ? &task : nullptr}; }
  void lead(const Task& task, const Leader& candidate);
  std::size_t entitled(const std::vector<StandingsEntry>& entries) const;

  FinalsPolicy policy_;
  bool by_template_;
  std::map<LeaderKey, Leader> leaders_;
  std::map<LeaderKey, std::vector<Screened>> screened_;
  std::map<std::size_t, std::vector<StandingsEntry>> entries_;  ///< by workload, fastest first
};

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
  std::vector<Finalist> finalists;        ///< the leader first
  std::size_t compiling = 0;              ///< finalists without a binary
  bool without_kernel_baselines = false;  ///< one of them may have ended a worker
  const GpuSlot* lost_on = nullptr;       ///< where a worker was lost with them last
  const GpuSlot* slot = nullptr;          ///< where they are run
  Clock::time_point begun;                ///< there
  std::uint64_t turns = 0;                ///< taken there so far
  int repetitions = 0;

  /// The first of those without a fault; null when there is none.
  const Finalist* leader() const;
  /// Null when the ticket is of none.
  Finalist* finalist(std::uint64_t ticket);
  const Finalist* finalist(std::uint64_t ticket) const;
};

}  // namespace tiletune
