#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rank/latest.h"
#include "rank/rows.h"
#include "store/database.h"

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

/// What was recorded of configurations, found by what they are. Keeps few bytes of a row and reads the rest
/// when it is asked for.
class Recording {
 public:
  using Reader = std::function<Trial(std::int64_t id)>;

  /// `order` is that of the sweeps of the rows; `read` gives the row of an id.
  Recording(RecordedSet set, SweepOrder order, Reader read)
      : set_(std::move(set)), order_(std::move(order)), read_(std::move(read)) {}

  const RecordedSet& set() const { return set_; }

  /// Takes what ranking_columns() name of a row of the set.
  void add(std::int64_t id, const Trial& row);
  /// To be called once, after the last add(): of several rows of one configuration the latest counts
  /// (rank/latest.h).
  void finish();

  /// The row of a candidate's configuration: same problem, conditions, template and parameters.
  std::optional<Trial> find(const Trial& candidate) const;
  /// Of the problem and conditions of `like`.
  std::vector<Trial> baselines(const Trial& like) const;
  /// How many configurations of the template, problem and conditions of `like` there are.
  std::uint64_t count(const Trial& like) const;
  /// The fastest of them that `is_wanted` takes by its parameters (JSON); its time, us.
  std::optional<double> fastest_us(const Trial& like,
                                   const std::function<bool(const std::string& parameters)>& is_wanted) const;
  /// Any row; there is one.
  Trial sample() const;

 private:
  struct Entry : DatedRow {
    std::array<std::uint64_t, 2> identity{};  ///< hash of the place and the parameters
    std::uint32_t place = 0;
    double time_us = 0;  ///< 0: it did not run
  };

  std::string place_text(const Trial& trial) const;
  std::array<std::uint64_t, 2> identity_of(const Trial& trial) const;

  RecordedSet set_;
  SweepOrder order_;
  Reader read_;
  std::vector<Entry> entries_;
  std::vector<Entry> baselines_;
  std::unordered_map<std::string, std::uint32_t> places_;  ///< problem, conditions and template
};

/// Reads a set, row by row. `database` must outlive the recording.
Recording read_recording(const Database& database, const RecordedSet& set);

}  // namespace tiletune
