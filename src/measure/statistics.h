#pragma once

#include <vector>

namespace tiletune {

/// Timed samples of one kernel and what they say, in microseconds.
struct Timing {
  std::vector<double> samples_us;  ///< in the order taken
  double median_us = 0;
  double ci_low_us = 0;  ///< 95% interval of the median; see summarise()
  double ci_high_us = 0;
  double min_us = 0;
  double mean_us = 0;
  double stddev_us = 0;  ///< of the sample (n - 1); 0 for one sample
};

/// Summarises at least one sample. The interval is the narrowest pair of order statistics x[r], x[n+1-r] that
/// covers the median with probability >= 95% by the binomial distribution (David and Nagaraja, Order
/// Statistics, 7.1); below six samples no pair does, and it is the whole range.
Timing summarise(std::vector<double> samples_us);

}  // namespace tiletune
