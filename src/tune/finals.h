#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tune/recorder.h"

namespace tiletune {

/// The finals of every group: when they are due, who takes part, and what becomes of it. When nothing of a
/// group is left to try, its best are re-measured, interleaved, on one GPU; others go on meanwhile.
class Finals {
 public:
  /// What is asked of an idle GPU.
  struct Call {
    enum class What {
      nothing,
      wait,  ///< for the binaries of finals that it will run
      race   ///< run a group's finals
    };
    What what = What::nothing;
    std::size_t group = 0;
  };

  Finals(SweepContext& sweep, Recorder& recorder);

  Call call(Lane& lane, const Post& post);
  /// Begins what call() asked for, on a GPU that holds the group.
  void start(Lane& lane, Post& post, std::size_t group);
  /// What comes of it.
  void take_turn(Lane& lane, const Post& post);
  void finish(Lane& lane, Post& post, const FinalsMeasured& measured);
  void lose(Lane& lane, Post& post, const FinalsLoss& loss);
  /// The GPU is given up, or was told to stop: what it found against participants does not count.
  void release(Lane& lane, Post& post);
  /// Takes the result of compiling a participant; false when the ticket is of none.
  bool take_compiled(std::uint64_t ticket, const Compiled& compiled);

  /// Whether none is left to run, and none may still become due. After Ctrl-C, or with no GPU left, those
  /// that are due are left out.
  bool over(Lane& lane);
  /// Of finals that are being run, if there are any.
  std::optional<ProgressState> progress() const;

 private:
  void open_due(Lane& lane);
  void open(Lane& lane, std::size_t group);
  bool is_done_before(const Lane& lane, const Selection& selection, std::size_t group) const;
  bool held_as_wanted(const std::string& policy) const;
  void gather(Lane& lane, GroupFinals& finals, std::vector<Contender> contenders);
  bool find_implausible(const Lane& lane, Post& post, GroupFinals& finals,
                        const FinalsMeasured& measured) const;
  bool confirm_faults(Lane& lane, GroupFinals& finals);
  void repeat(Lane& lane, GroupFinals& finals, const std::string& why);
  void record(Lane& lane, const Post& post, GroupFinals& finals, const FinalsMeasured& measured);
  void leave_out(Lane& lane, GroupFinals& finals, const std::string& why);
  void close(Lane& lane, GroupFinals& finals);

  SweepContext& sweep_;
  Recorder& recorder_;
};

}  // namespace tiletune
