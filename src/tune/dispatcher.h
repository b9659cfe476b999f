#pragma once

#include <string>

#include "tune/finals.h"
#include "tune/recorder.h"

namespace tiletune {

/// Gives candidates and finals to GPUs, takes their results, and decides what a lost worker means: for its
/// candidate, and for its GPU.
class Dispatcher {
 public:
  Dispatcher(SweepContext& sweep, Recorder& recorder, Finals& finals)
      : sweep_(sweep), recorder_(recorder), finals_(finals) {}

  /// Takes what a GPU has to say, and gives it what comes next.
  void attend(Lane& lane, Post& post);
  /// Takes the result of compiling a group's reference kernel; false when the ticket is of none.
  bool take_reference(std::uint64_t ticket, const Compiled& compiled);
  /// Nothing new is begun, so only a candidate that runs is worth waiting for, a worker that is being started
  /// is not; nor are finals after Ctrl-C.
  void abandon_preparations();
  /// Throws GpuError when a part of the sweep has lost all its GPUs before its end.
  void check_survivors();

 private:
  bool measure_next(Lane& lane, Post& post);
  bool run_finals(Lane& lane, Post& post, std::size_t group);
  bool begin_group(Lane& lane, Post& post, const Stage& stage);
  bool is_known(Lane& lane, const Post& post, Candidate& candidate);
  void submit(Lane& lane, Post& post, Candidate candidate);
  void take(Lane& lane, Post& post, Evaluation evaluation);
  void take_baselines(Lane& lane, Post& post, Evaluation& evaluation);
  void settle(Lane& lane, Post& post, Candidate candidate);
  void doubt(Lane& lane, const Evaluator* evaluator);
  std::optional<std::string> implausibility_of(const Post& post, const Candidate& candidate) const;
  void give_up_group(Post& post, const std::string& reason);
  void abandon(Lane& lane, Post& post);
  void retire(Lane& lane, Post& post, const std::string& reason);
  void try_again(Lane& lane, Candidate candidate);

  SweepContext& sweep_;
  Recorder& recorder_;
  Finals& finals_;
};

}  // namespace tiletune
