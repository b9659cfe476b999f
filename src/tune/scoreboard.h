#pragma once

#include <map>
#include <string>

#include "store/trial.h"
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

}  // namespace tiletune
