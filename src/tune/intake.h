#pragma once

#include "tune/recorder.h"

namespace tiletune {

/// Brings candidates to the lanes: proposes, finds what can be reused, compiles, admits.
class Intake {
 public:
  Intake(SweepContext& sweep, Recorder& recorder) : sweep_(sweep), recorder_(recorder) {}

  /// Looks up what reference kernels of earlier sweeps depend on, which is part of their rows' keys.
  void recall_references();
  /// Proposes as long as compiling has not run too far ahead.
  void propose();
  /// Takes the result of compiling a candidate; false when the ticket is of none.
  bool admit(std::uint64_t ticket, const Compiled& compiled);
  /// Whether propose() would have something to do although nothing is being compiled.
  bool is_starved() { return !sweep_.stopping && compiling() == 0 && hungriest() != nullptr; }

 private:
  std::size_t compiling() const;
  Lane* hungriest();
  void start(Lane& lane, const Proposal& proposal);
  void admit(Lane& lane, Candidate candidate, const Compiled& compiled);

  SweepContext& sweep_;
  Recorder& recorder_;
};

}  // namespace tiletune
