#pragma once

#include <map>
#include <string>

#include "store/trial.h"
#include "tune/progress.h"
#include "tune/stage.h"

namespace tiletune {

/// What the live line shows beside the counts: the stage that had a row last, and the best time so far of its
/// problem on its GPU.
class Scoreboard {
 public:
  /// `row` is of `stage`.
  void add(const Stage& stage, const Trial& row);
  ProgressState state(const Stage& first_stage) const;

 private:
  struct Best {
    double median_us = 0;
    std::string text;  ///< "52.0 TFLOP/s, 102.0% of cublaslt (sgemm_warptile)"
  };
  std::string stage_;  ///< of the last row
  std::string place_;  ///< its GPU and problem
  std::map<std::string, Best> best_;
};

}  // namespace tiletune
