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

struct GpuSlot;

/// A configuration that was given up as slower than its leader.
struct Screened {
  Task* task = nullptr;
  std::uint64_t index = 0;  ///< in the task's space
  double median_us = 0;
  std::int64_t sweep_id = 0;  ///< the one that measured it
};

/// A configuration that was measured, and may lead its problem or take part in its finals, where its ticket
/// is its place, counted from 1.
struct Contender : Screened {
  /// What finals have found against it.
  struct Fault {
    Outcome outcome = Outcome::crashed;
    std::string reason;
    const GpuSlot* slot = nullptr;  ///< where; null once it is confirmed, and the row does not rank
  };

  std::string key = {};
  double first_us = 0;  ///< its median before any finals
  double upper_us = 0;  ///< upper end of its 95% interval
  /// What it was known to take at most when others were screened against it: the finals may find it a little
  /// slower.
  double lowest_upper_us = 0;
  bool ranks = true;          ///< false: earlier finals found a fault; it only keeps its place
  std::int64_t final_of = 0;  ///< the sweep whose finals timed it; 0: none has
  std::shared_ptr<const Binary> binary = nullptr;  ///< none for a reused row
  Instance instance = {};                          ///< once it takes part in finals
  bool suspect = false;                            ///< a GPU lost its worker with it there
  std::optional<Fault> fault = {};
};

/// Who takes part in a workload's finals.
struct Selection {
  std::vector<Contender> contenders;  ///< all that rank, the leader first
  bool cut = false;                   ///< the policy would let more take part
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
  /// Whom a task's configurations are screened against; null: nobody.
  const Contender* leader(const Task& task) const;
  Selection selection(std::size_t workload) const;
  /// A row of the task was found to be faulty: whoever is the fastest without it leads. Returns those that
  /// were screened out and would not be by a factor of `screening` now; they count as not tried.
  std::vector<Screened> disqualify(const Task& task, const std::string& key, double screening);
  /// Drops a workload whose finals are over.
  void forget(std::size_t workload);

 private:
  using LeaderKey = std::pair<std::size_t, const Task*>;

  LeaderKey leader_key(const Task& task) const { return {task.workload, by_template_ ? &task : nullptr}; }
  void lead(Contender candidate);
  std::size_t entitled(const std::vector<Contender>& contenders) const;

  FinalsPolicy policy_;
  bool by_template_;
  std::map<LeaderKey, Contender> leaders_;  ///< without their binaries
  std::map<LeaderKey, std::vector<Screened>> screened_;
  std::map<std::size_t, std::vector<Contender>> contenders_;  ///< by workload, fastest first
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
  std::vector<Contender> finalists = {};  ///< the leader first
  std::size_t compiling = 0;              ///< finalists without a binary
  bool without_kernel_baselines = false;  ///< one of them may have ended a worker
  const GpuSlot* lost_on = nullptr;       ///< where a worker was lost with them last
  const GpuSlot* slot = nullptr;          ///< where they are run
  Clock::time_point begun = {};           ///< there
  std::uint64_t turns = 0;                ///< taken there so far
  int repetitions = 0;

  /// The first of those without a fault; null when there is none.
  const Contender* leader() const;
  std::size_t sound() const;  ///< finalists without a fault
  /// Null when the ticket is of none.
  const Contender* finalist(std::uint64_t ticket) const {
    return ticket == 0 || ticket > finalists.size() ? nullptr : &finalists[ticket - 1];
  }
  Contender* finalist(std::uint64_t ticket) {
    return ticket == 0 || ticket > finalists.size() ? nullptr : &finalists[ticket - 1];
  }
};

}  // namespace tiletune
