#pragma once

#include <string>

#include "tune/recorder.h"

namespace tiletune {

/// Gives candidates to GPUs, takes their results, and decides what a lost worker means: for its candidate,
/// and for its GPU.
class Dispatcher {
 public:
  Dispatcher(SweepContext& sweep, Recorder& recorder) : sweep_(sweep), recorder_(recorder) {}

  /// Takes what a GPU has to say, and gives it the next candidate.
  void attend(Lane& lane, Post& post);
  /// Takes the result of compiling a group's reference kernel; false when the ticket is of none.
  bool take_reference(std::uint64_t ticket, const Compiled& compiled);
  /// Only what runs on a GPU is worth waiting for; a worker that is being started is not.
  void abandon_preparations();
  /// Throws GpuError when a part of the sweep has lost all its GPUs before its end.
  void check_survivors();

 private:
  bool begin_group(Lane& lane, Post& post, const Stage& stage);
  void submit(Lane& lane, Post& post, Candidate candidate);
  void take(Lane& lane, Post& post, Evaluation evaluation);
  void settle(Lane& lane, Post& post, Candidate candidate);
  void doubt(Lane& lane, const Evaluator* evaluator);
  void give_up_group(Post& post, const std::string& reason);
  void retire(Lane& lane, Post& post, const std::string& reason);
  void try_again(Lane& lane, Candidate candidate);

  SweepContext& sweep_;
  Recorder& recorder_;
};

}  // namespace tiletune
