#pragma once

#include <optional>
#include <vector>

namespace tiletune {

/// Timed samples of one kernel as they were taken.
struct Samples {
  std::vector<double> times_us;            ///< per launch, in the order taken
  std::vector<double> clocks_mhz = {};     ///< the SM clock during each sample; empty where it was not read
  int batch = 1;                           ///< launches per sample; the most where samples differ
  int discarded = 0;                       ///< samples thrown away, because the GPU was throttled meanwhile
  std::optional<double> isolated_us = {};  ///< of a batched kernel: the median of single launches
};

/// Samples and what they say. Times in microseconds per launch.
struct Timing : Samples {
  double median_us = 0;
  double ci_low_us = 0;  ///< 95% interval of the median
  double ci_high_us = 0;
  double min_us = 0;
  double mean_us = 0;
  double stddev_us = 0;                      ///< of the sample (n - 1); 0 for one sample
  std::optional<double> sm_clock_mhz = {};   ///< median of the samples' clocks
  std::optional<double> median_cycles = {};  ///< median of time x clock: SM cycles of one launch
};

/// Summarises at least one sample. The interval is the narrowest pair of order statistics x[r], x[n+1-r] that
/// covers the median with probability >= 95% by the binomial distribution (David and Nagaraja, Order
/// Statistics, 7.1); below six samples no pair does, and it is the whole range.
Timing summarise(Samples samples);

/// Of a list that is not empty: the middle value, or the mean of the two in the middle.
double median(std::vector<double> values);

}  // namespace tiletune
