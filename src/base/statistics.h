#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"

namespace tiletune {

/// How samples are spread.
struct Quartiles {
  double lower = 0;
  double upper = 0;
};

/// Interpolates between order statistics (Hyndman and Fan, Sample Quantiles in Statistical Packages, type 7).
/// There must be at least one value. Interpolating with an infinite value gives infinity or NaN.
double quantile(const std::vector<double>& sorted, double fraction);
Quartiles quartiles(std::vector<double> values);

struct HistogramBin {
  double low = 0;  ///< inclusive; the bin before ends here
  double high = 0;
  std::size_t count = 0;
};

/// Bins of equal width over what lies within three interquartile ranges of the quartiles; what lies farther
/// out is counted in the first and the last bin, which then reach to the extremes. One bin when all values
/// are equal, none of no values.
std::vector<HistogramBin> histogram(const std::vector<double>& values, std::size_t most_bins);

/// A line per bin: its range, a bar of at most `width` columns, its count.
std::vector<std::string> histogram_lines(const std::vector<HistogramBin>& bins, std::size_t width);

/// Timed samples of one kernel as they were taken.
struct Samples {
  std::vector<double> times_us;            ///< per launch, in the order taken
  std::vector<double> clocks_mhz = {};     ///< the SM clock during each sample; empty where it was not read
  int batch = 1;                           ///< launches per sample; the most where samples differ
  int discarded = 0;                       ///< samples thrown away, because the GPU was throttled meanwhile
  std::optional<double> isolated_us = {};  ///< of a batched kernel: the median of single launches
  /// The time of each GPU for each sample, if the launch runs on several GPUs.
  std::vector<std::vector<double>> gpu_times_us = {};

  static constexpr auto fields() {
    using S = Samples;
    constexpr Bounds<double> kTime{.min = 0, .max = std::numeric_limits<double>::max()};
    constexpr int kMost = 1'000'000;
    return list_of(field("times_us", &S::times_us, kTime), field("clocks_mhz", &S::clocks_mhz, kTime),
                   field("batch", &S::batch, {.min = 1, .max = kMost}),
                   field("discarded", &S::discarded, {.min = 0, .max = kMost}),
                   field("isolated_us", &S::isolated_us), field("gpu_times_us", &S::gpu_times_us));
  }
  std::string fault() const {
    if (times_us.empty()) return "a timing has no samples";
    const bool one_each = clocks_mhz.empty() || clocks_mhz.size() == times_us.size();
    if (!one_each) return "a timing has not one clock per sample";
    for (const std::vector<double>& times : gpu_times_us)
      if (times.size() != gpu_times_us.front().size()) return "a timing has not one time per GPU";
    return "";
  }
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
  std::vector<double> gpu_medians_us = {};   ///< on several GPUs: the median of each one's times

  /// What the samples say. A message holds these alone.
  void complete();
};

/// Summarises at least one sample. The interval is the narrowest pair of order statistics x[r], x[n+1-r] that
/// covers the median with probability >= 95% by the binomial distribution (David and Nagaraja, Order
/// Statistics, 7.1); below six samples no pair does, and it is the whole range.
Timing summarise(Samples samples);

/// The middle value, or the mean of the two in the middle. The list must not be empty.
double median(std::vector<double> values);

/// The correlation of the ranks of two equally long lists, values that are equal sharing the mean of their
/// ranks: -1 to 1. None for less than two values and where all of one list are equal.
std::optional<double> spearman(std::span<const double> a, std::span<const double> b);

}  // namespace tiletune
