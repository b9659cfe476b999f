#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/trial.h"
#include "tune/context.h"
#include "tune/progress.h"
#include "tune/task.h"

namespace tiletune {

/// What the live line shows beside the counts: the task that had a row last, and the best time so far of its
/// problem on its GPU.
class Scoreboard {
 public:
  /// `row` is of `task`.
  void add(const Task& task, const Trial& row);
  ProgressState state(const Task& first_task) const;

 private:
  struct Best {
    double median_us = 0;
    std::string text;  ///< "52.0 TFLOP/s, 102.0% of cublaslt (sgemm_warptile)"
  };
  std::string task_;   ///< of the last row
  std::string place_;  ///< its GPU and problem
  std::map<std::string, Best> best_;
};

/// Writes rows, and counts what has become of the configurations.
class Recorder {
 public:
  explicit Recorder(SweepContext& sweep) : sweep_(sweep) {}

  /// The end of a candidate.
  void record(TaskQueue& queue, Candidate candidate);
  void refuse(TaskQueue& queue, Candidate candidate, const std::string& reason);
  /// Journals that a candidate is about to run.
  void dispatch(Candidate& candidate);
  void record_baseline(Trial baseline);
  /// Rows with their times in the finals.
  void record_finals(std::vector<Trial> rows);
  /// The finals have found a fault in the configuration of a row, which therefore ranks no more.
  void disqualify(const std::string& key, Outcome outcome, const std::string& reason);

  /// A configuration that was screened out has to be measured after all.
  void try_again(TaskQueue& queue, const Screened& screened);

  /// Takes the row of a candidate that is there already, or puts the candidate off to the end of its task:
  /// one that was being measured when another sweep ended abruptly may have been the end of the whole
  /// machine, or another sweep may be at it right now; and one that was screened out cannot be judged before
  /// a leader is known. The row of another configuration with the same measurement serves as well: the
  /// candidate gets a row that shares it. False when the candidate has to be tried.
  bool is_known(TaskQueue& queue, const Candidate& candidate);

  const Scoreboard& scoreboard() const { return scoreboard_; }

 private:
  void keep(std::vector<Trial> rows);
  void reuse(TaskQueue& queue, const Candidate& candidate, const Trial& known);
  void describe(const TaskQueue& queue, const Candidate& candidate, Trial& row);
  void share(TaskQueue& queue, const Candidate& candidate, const Trial& measured);
  void see_baseline(TaskQueue& queue, const Candidate& candidate, const Trial& row);
  bool is_still_too_slow(const TaskQueue& queue, const Candidate& candidate, const Trial& row) const;
  void stamp(Trial& row) const;
  bool is_from_before(std::int64_t sweep_id) const;
  void count_samples(const Trial& row);
  void count(TaskQueue& queue, const Candidate& candidate, const Trial& row);
  void uncount(Outcome outcome);

  SweepContext& sweep_;
  Scoreboard scoreboard_;
};

}  // namespace tiletune
