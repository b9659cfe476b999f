#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/worker_process.h"
#include "compile/binary.h"
#include "inspect/occupancy.h"
#include "measure/client.h"
#include "store/trial.h"
#include "tune/task.h"

namespace tiletune {

/// An admitted configuration with its binary, ready to be evaluated.
struct Candidate {
  Task* task = nullptr;
  std::uint64_t index = 0;  ///< in the task's space
  Instance instance = {};
  Trial trial = {};
  std::shared_ptr<const Binary> binary = {};
  std::vector<Occupancy> occupancies = {};  ///< by launch
  bool deferred = false;                    ///< it was put off before
  std::optional<double> leader_us = {};     ///< whoever is clearly slower than this is screened out
  std::vector<OutputFile> outputs = {};     ///< where its outputs are to be written

  int losses = 0;                            ///< workers lost with it
  bool lost_without_fault = false;           ///< it had no part in the last of them
  const class Evaluator* lost_on = nullptr;  ///< where another evaluator should be tried first
};

/// What an evaluator has to say; every part may be absent.
struct Evaluation {
  std::optional<Candidate> finished = {};  ///< also one with which a worker was lost
  std::optional<Candidate> returned = {};  ///< not evaluated
  std::vector<Trial> baselines = {};
  std::optional<Calibration> calibration = {};  ///< when prepare_workload() asked for it
  std::optional<std::uint64_t> turn = {};       ///< finals have come to the finalist of that ticket
  std::optional<FinalsMeasured> finals = {};
  std::optional<WorkerLost> finals_lost = {};
  std::string note = {};      ///< for the person watching
  std::string unusable = {};  ///< why it cannot evaluate the workload that it was to begin
  std::string retired = {};   ///< why this evaluator takes no more candidates, ever
};

/// Turns candidates into rows with times. One candidate at a time.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual const Target& target() const = 0;
  /// Whether it runs kernels: then a row is journalled as dispatched before it is evaluated, and a workload
  /// needs its reference kernel.
  virtual bool measures() const = 0;
  /// Whether candidates are compiled and admitted before they are submitted. Otherwise each is submitted as
  /// soon as it is proposed, with its task and index alone, and nothing is proposed before its result is
  /// known.
  virtual bool needs_binaries() const { return true; }
  /// Seconds by a clock of its own, by which the budget counts; none: the wall's.
  virtual std::optional<double> simulated_s() const { return std::nullopt; }
  /// Called before the first candidate of a workload, when idle; may take a while, so idle() is false until
  /// it is done. `reference` are the kernels of the workload's reference, if any, and `baselines` those of
  /// its baselines that are kernels. `calibrate`: nothing is known yet of the GPU's ceilings.
  virtual void prepare_workload(const Task& task, const WorkloadKernels& kernels,
                                std::vector<Candidate> baselines, bool calibrate) = 0;
  virtual bool idle() const = 0;
  virtual void submit(Candidate candidate) = 0;
  /// Runs the finals of the workload begun last, when idle. Only one that measures is asked to.
  virtual void run_finals(FinalsRequest request) = 0;
  virtual std::optional<Evaluation> poll() = 0;
  /// Whether a candidate is being run, so that its end is worth waiting for: finals can take minutes.
  virtual bool running() const = 0;
  /// Gives up whatever it does. Returns the candidate it held, with an outcome when that is known already.
  virtual std::optional<Candidate> abandon() = 0;
  /// To poll for POLLIN (-1: none), and when poll() is due without it.
  virtual int fd() const = 0;
  virtual Clock::time_point deadline() const = 0;
};

/// When a GPU is given up.
struct Patience {
  int most_losses = 100;   ///< workers lost in a row, without a measurement in between
  int most_restarts = 4;   ///< attempts at restarting a lost worker
  double restart_s = 0.5;  ///< pause before the second attempt; doubled for each further one
};

/// Measures on the GPU behind `client`, which has been opened as `target`. A worker that is lost is replaced.
std::unique_ptr<Evaluator> make_measuring_evaluator(const TuneSpec& spec, std::unique_ptr<GpuClient> client,
                                                    Target target, Patience patience = {});
/// Predicts with the static model for a GPU that is not here.
std::unique_ptr<Evaluator> make_predicting_evaluator(Target target);

/// GPUs of one model, architecture and driver: their times compare, so they share one way through the space,
/// and what one of them has measured the others need not.
struct GpuSet {
  std::vector<Task> tasks;
  std::vector<std::unique_ptr<Evaluator>> evaluators;  ///< at least one

  const Target& target() const { return evaluators.front()->target(); }
};

/// An evaluator that knows its answers at once: each waits here until it is polled for.
class InstantEvaluator : public Evaluator {
 public:
  explicit InstantEvaluator(Target target) : target_(std::move(target)) {}

  const Target& target() const override { return target_; }
  bool measures() const override { return false; }
  void run_finals(FinalsRequest /*request*/) override {
    throw std::logic_error("it gives the same answer every time");
  }
  void prepare_workload(const Task& /*task*/, const WorkloadKernels& /*kernels*/,
                        std::vector<Candidate> /*baselines*/, bool /*calibrate*/) override {}
  bool idle() const override { return !answer_; }
  bool running() const override { return answer_.has_value(); }
  int fd() const override { return -1; }
  Clock::time_point deadline() const override { return answer_ ? Clock::now() : Clock::time_point::max(); }
  std::optional<Candidate> abandon() override { return std::nullopt; }
  std::optional<Evaluation> poll() override { return std::exchange(answer_, std::nullopt); }

 protected:
  void answer(Evaluation evaluation) { answer_ = std::move(evaluation); }
  void finish(Candidate candidate) { answer({.finished = std::move(candidate)}); }

 private:
  Target target_;
  std::optional<Evaluation> answer_;
};

}  // namespace tiletune
