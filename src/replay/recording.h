#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rank/rows.h"
#include "store/database.h"
#include "tune/task.h"

namespace tiletune {

/// Rows of one GPU and one source.
struct RecordedSet {
  std::string gpu;
  Source source = Source::measured;
  std::int64_t kernels = 0;
};

/// The sets of a database whose rows can be replayed, in order of first appearance. What is itself a replay
/// cannot.
std::vector<RecordedSet> recorded_sets(const Database& database);
/// The set to replay: of the only GPU, or of the one that `gpu` names by a part of its name; measured rows
/// rather than imported ones, and those rather than predicted ones. Throws UserError, with the names there
/// are, when there is none or more than one. `file` is for the message.
const RecordedSet& choose_set(const std::vector<RecordedSet>& sets, const std::string& gpu,
                              const std::string& file);

/// What was recorded of configurations, found by what they are. Keeps few bytes of a row; the rest can be
/// read by its id.
class Recording {
 public:
  using Reader = std::function<Trial(std::int64_t id)>;

  struct Entry : DatedRow {
    Identity identity{};  ///< of the place and the parameters
    std::uint32_t place = 0;
    double time_us = 0;    ///< 0: it did not run, or was screened out
    double result_us = 0;  ///< as a strategy gets it: of what was screened out the median of its few samples
    double spent_ms = 0;   ///< compiling and measuring, as far as the row says
    Outcome outcome = Outcome::dispatched;
    bool stopped = false;  ///< the compiler, at its deadline, and the row does not say after what time
  };

  /// Configurations of one template, problem and conditions.
  struct Place {
    std::uint32_t number = 0;
    std::string text;                ///< "tiny 1x1x1 (gemm, f32)"
    std::string conditions;          ///< as far as rows tell them
    std::vector<std::string> names;  ///< of the parameters that rows list, sorted
    std::uint64_t configurations = 0;
  };

  /// `order` is that of the sweeps of the rows; `read` gives the row of an id.
  Recording(RecordedSet set, SweepOrder order, Reader read);

  const RecordedSet& set() const { return set_; }

  /// Takes what ranking_columns() name of a row, and compile_ms and measure_ms of the set.
  void add(std::int64_t id, const Trial& row);
  /// To be called once, after the last add(): of several rows of one configuration the latest counts
  /// (rank/rows.h).
  void finish();

  /// Where rows lie that are of the template, problem and conditions of `like`, for place() and find().
  /// Imported rows say nothing of operation, element types and scalars, and whatever was not timed by
  /// tiletune says nothing of the cache.
  std::string place_of(const Trial& like) const;
  /// Null where there are none.
  const Place* place(const std::string& place) const;
  /// The row of a configuration by its parameters (JSON); null where there is none.
  const Entry* find(const std::string& place, const std::string& parameters) const;
  /// Ids of rows of the problem and conditions of `like`.
  std::vector<std::int64_t> baselines(const Trial& like) const;
  /// The fastest at a place that `is_wanted` takes by its parameters (JSON); its time, us.
  std::optional<double> fastest_us(const std::string& place,
                                   const std::function<bool(const std::string& parameters)>& is_wanted) const;
  /// Lists the first few that there are: "tiny 1x1x1 (gemm, f32); ..."
  std::string places_text() const;
  /// How many rows have a time. `without_costs`: only those without the time of compiling and measuring.
  std::size_t timed(bool without_costs = false) const;

  Trial row(std::int64_t id) const { return read_(id); }
  bool is_empty() const { return entries_.empty(); }
  /// Any row; not of an empty recording.
  Trial sample() const { return read_(entries_.front().id); }

 private:
  std::string conditions_text(const Trial& trial) const;

  RecordedSet set_;
  SweepOrder order_;
  Reader read_;
  std::vector<Entry> entries_;
  std::vector<Entry> baselines_;
  std::unordered_map<std::string, Place> places_;
};

/// Rows of a set, without those of earlier sources.
TrialFilter filter_of(const RecordedSet& set);
/// Reads a set, row by row; throws UserError when no row is left of it. `database` must outlive the
/// recording.
Recording read_recording(const Database& database, const RecordedSet& set);

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
  const NamedValues& taken_for_granted() const { return granted_; }
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
  NamedValues granted_;
  std::vector<std::string> unlisted_;
  std::vector<std::string> unknown_;
};

}  // namespace tiletune
