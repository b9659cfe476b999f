#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tiletune {

/// How samples are spread.
struct Quartiles {
  double lower = 0;
  double upper = 0;
};

/// Interpolates between order statistics (Hyndman and Fan, Sample Quantiles in Statistical Packages, type 7).
/// There must be at least one value. Next to an infinite one the quantile is infinite or not a number.
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

}  // namespace tiletune
