#pragma once

#include <string>

#include "tune/context.h"
#include "tune/scoreboard.h"

namespace tiletune {

/// Writes rows, and counts what has become of the configurations.
class Recorder {
 public:
  explicit Recorder(SweepContext& sweep) : sweep_(sweep) {}

  /// The end of a candidate.
  void record(Candidate candidate);
  void refuse(Candidate candidate, const std::string& reason);
  /// Journals that a candidate is about to run.
  void dispatch(Candidate& candidate);
  void record_baseline(Trial baseline);

  /// Takes the row of a candidate that is there already. One that was being measured when another sweep ended
  /// abruptly may have been the end of the whole machine, or another sweep may be at it right now: it is put
  /// off to the end. False when the candidate has to be tried.
  bool is_known(Lane& lane, const Candidate& candidate);

  const Scoreboard& scoreboard() const { return scoreboard_; }

 private:
  bool reuse(Lane& lane, const Candidate& candidate, const Trial& row);
  void count(const Candidate& candidate, const Trial& row);

  SweepContext& sweep_;
  Scoreboard scoreboard_;
};

}  // namespace tiletune
