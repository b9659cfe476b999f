#pragma once

#include <string>
#include <vector>

#include "tune/recording.h"
#include "tune/task.h"

namespace tiletune {

/// How the configurations of a task are found in a recording. Rows need not list parameters of which the
/// config leaves one value: they are taken to have been recorded with it.
class RecordedTask {
 public:
  /// `task` and `recording` outlive it.
  RecordedTask(const TuneSpec& spec, const Task& task, const Recording& recording, const Target& target);

  /// What rows of the task have in common.
  const Trial& like() const { return like_; }
  /// Null where there are no rows of its template, problem and conditions.
  const Recording::Place* place() const { return place_; }
  /// Whether configurations can be found at all.
  bool is_joined() const { return place_ != nullptr && unlisted_.empty() && unknown_.empty(); }
  /// Null where there is none.
  const Recording::Entry* find(std::uint64_t index) const;
  /// The time of the fastest row whose configuration is in the task's space.
  std::optional<double> fastest_us() const;

  /// "filter_height=15": what the rows do not list, but must have been recorded with.
  NamedValues taken_for_granted() const;
  /// Parameters of several values that the rows do not list: they cannot be distinguished.
  const std::vector<std::string>& unlisted() const { return unlisted_; }
  /// Parameters that the rows list and the template does not have.
  const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  bool is_in_space(const std::string& parameters) const;

  const Task* task_;
  const Recording* recording_;
  Trial like_;
  std::string key_;
  const Recording::Place* place_;
  std::vector<std::size_t> listed_;  ///< parameters of the template, by number
  std::vector<WrittenAs> values_;    ///< of the listed
  std::vector<std::size_t> granted_;
  std::vector<std::string> unlisted_;
  std::vector<std::string> unknown_;
};

}  // namespace tiletune
