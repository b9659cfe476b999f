#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/binary.h"
#include "store/trial.h"
#include "tune/stage.h"

namespace tiletune {

/// The fastest row so far of those that are screened against each other.
struct Leader {
  std::string key;
  double median_us = 0;
  double upper_us = 0;  ///< of its 95% interval
  /// What it was known to take at most when others were screened against it: the finals may find it a little
  /// slower.
  double lowest_upper_us = 0;
};

/// A configuration that may take part in its group's finals.
struct Contender {
  Stage* stage = nullptr;
  std::uint64_t index = 0;  ///< in the stage's space
  std::string key;
  double first_us = 0;         ///< its median before any finals
  Leader time;                 ///< for as long as nobody is faster
  bool ranks = true;           ///< false: earlier finals found a fault; it only keeps its place
  std::int64_t finals_of = 0;  ///< the sweep whose finals timed it; 0: none has
  std::shared_ptr<const Binary> binary = nullptr;  ///< none for a reused row
};

/// A configuration that was given up as slower than its leader.
struct Screened {
  Stage* stage = nullptr;
  std::uint64_t index = 0;  ///< in the stage's space
  double median_us = 0;
  std::int64_t sweep_id = 0;  ///< the one that measured it
};

/// Who takes part in a group's finals.
struct Selection {
  std::vector<Contender> contenders;  ///< all that rank, the leader first
  bool cut = false;                   ///< the policy would let more take part
};

/// The leaders of a lane's groups and those close to them. It is decided by the times before any finals, so
/// that the finals of a sweep that is run again have the same participants. Keeps a bounded number of each
/// group's rows, and until its finals are over all those that were screened out; without finals none of
/// these.
class Standings {
 public:
  /// Whoever leads its template is not screened out `by_template`: then each has a leader of its own.
  Standings(const FinalsPolicy& policy, bool by_template) : policy_(policy), by_template_(by_template) {}

  /// Takes a row that was measured, in this sweep or before.
  void add(Stage& stage, std::uint64_t index, const Trial& row, std::shared_ptr<const Binary> binary);
  /// Whom a stage's configurations are screened against.
  const Leader* leader(const Stage& stage) const;
  Selection selection(std::size_t group) const;
  /// A row of the stage was found to be faulty: whoever is the fastest without it leads. Returns those that
  /// were screened out and would not be by a factor of `screening` now; they count as not tried.
  std::vector<Screened> disqualify(const Stage& stage, const std::string& key, double screening);
  /// Drops a group whose finals are over.
  void forget(std::size_t group);

 private:
  using Scope = std::pair<std::size_t, const Stage*>;

  Scope scope(const Stage& stage) const { return {stage.group, by_template_ ? &stage : nullptr}; }
  void lead(const Stage& stage, const Leader& candidate);
  std::size_t entitled(const std::vector<Contender>& entries) const;

  FinalsPolicy policy_;
  bool by_template_;
  std::map<Scope, Leader> leaders_;
  std::map<Scope, std::vector<Screened>> screened_;
  std::map<std::size_t, std::vector<Contender>> entries_;  ///< by group, fastest first
};

}  // namespace tiletune
