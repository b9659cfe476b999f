#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/worker_process.h"
#include "compile/binary.h"
#include "inspect/occupancy.h"
#include "inspect/resources.h"
#include "measure/client.h"
#include "store/trial.h"
#include "tune/stage.h"
#include "tune/target.h"

namespace tiletune {

/// An admitted configuration with its binary, ready to be evaluated.
struct Candidate {
  Stage* stage = nullptr;
  std::uint64_t index = 0;  ///< in the stage's space
  Instance instance;
  Trial trial;
  std::shared_ptr<const Binary> binary;
  Resources resources;
  Occupancy occupancy;
};

/// What an evaluator has to say: a finished candidate, a group that was prepared, or one that cannot be.
struct Evaluation {
  std::optional<Candidate> finished;
  std::optional<Trial> baseline;
  std::string note;  ///< for the person watching; may be empty
};

/// Turns candidates into rows with times. One candidate at a time.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual const Target& target() const = 0;
  /// Called before the first candidate of a group, when idle; may take a while, so idle() is false until it
  /// is done.
  virtual void begin_group(const Stage& stage) = 0;
  virtual bool idle() const = 0;
  virtual void submit(Candidate candidate) = 0;
  virtual std::optional<Evaluation> poll() = 0;
  /// To poll for POLLIN (-1: none), and when poll() is due without it.
  virtual int fd() const = 0;
  virtual Clock::time_point deadline() const = 0;
  /// Whether a row is journalled as dispatched before it is evaluated.
  virtual bool can_be_lost() const = 0;
};

/// Measures on the GPU behind `client`, which has been opened as `target`.
std::unique_ptr<Evaluator> make_measuring_evaluator(const TuneSpec& spec, std::unique_ptr<GpuClient> client,
                                                    Target target);
/// Predicts with the static model for a GPU that is not here.
std::unique_ptr<Evaluator> make_predicting_evaluator(Target target);

}  // namespace tiletune
