#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/statistics.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// The SM clock of a run: the median of what its recent samples ran at. A sample taken far below it was
/// throttled, by a power cap, heat or a neighbour, and says nothing of the kernel.
class RunClock {
 public:
  void add(double mhz);
  /// None before the first sample.
  std::optional<double> mhz() const;
  /// Below 90% of the run's clock.
  bool is_throttled(double mhz) const;

 private:
  std::deque<double> recent_;
};

/// One timed sample.
struct Shot {
  double time_us = 0;                     ///< per launch
  std::optional<double> clock_mhz;        ///< SM clock meanwhile; none where it could not be read
  std::vector<double> gpu_times_us = {};  ///< on several GPUs: of each one's part
};

/// Takes about `count` samples in a row, at least one.
using TakeShots = std::function<std::vector<Shot>(int count)>;

/// So much of a first launch may go into loading the kernel, or waiting for a busy host: what takes longer
/// needs no batches, and what is too slow even without it no further sample.
inline constexpr double kLongestLoadUs = 20e3;

/// What is known before the first sample.
struct Expectation {
  double estimate_us = 0;           ///< by a first launch; may be too long
  std::optional<double> leader_us;  ///< upper bound of the leader's time; none: nothing is screened
};

struct Sampled {
  Samples samples;
  bool screened_out = false;  ///< clearly slower than the leader; no more samples than that takes
};

/// Screening: what the fastest of three samples shows to be slower than the leader's upper bound by the
/// policy's factor is given up; what is far beyond that needs one sample only, and what takes many
/// milliseconds too long none but the first launch. Then as many samples as the policy's precision needs: at
/// least six, without which nothing can be said of a median with 95% certainty, and at most policy.samples; a
/// kernel that is so slow that a quarter of a second is spent gets no more than three.
Sampled sample(const MeasurePolicy& policy, const Expectation& expectation, RunClock& clock,
               const TakeShots& take);

}  // namespace tiletune
