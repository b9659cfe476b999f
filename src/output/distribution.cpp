#include "output/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tiletune {

double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(below);
  return share > 0 ? sorted[below] + share * (sorted[below + 1] - sorted[below]) : sorted[below];
}

Quartiles quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.25), quantile(values, 0.75)};
}

std::vector<HistogramBin> histogram(const std::vector<double>& values, std::size_t most_bins) {
  if (values.empty()) return {};
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  if (*min == *max) return {{*min, *max, values.size()}};
  const Quartiles middle = quartiles(values);
  const double reach = 3 * (middle.upper - middle.lower);
  const double low = reach > 0 ? std::max(*min, middle.lower - reach) : *min;
  const double high = reach > 0 ? std::min(*max, middle.upper + reach) : *max;
  const auto wanted = static_cast<std::size_t>(std::ceil(2 * std::sqrt(values.size())));
  const std::size_t count = std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(most_bins, 1));
  std::vector<HistogramBin> bins(count);
  const double step = (high - low) / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i)
    bins[i] = {low + step * static_cast<double>(i), low + step * static_cast<double>(i + 1), 0};
  bins.front().low = *min;
  bins.back().high = *max;
  for (const double value : values) {
    const double place = std::clamp(std::floor((value - low) / step), 0.0, static_cast<double>(count - 1));
    ++bins[static_cast<std::size_t>(place)].count;
  }
  return bins;
}

std::vector<std::string> histogram_lines(const std::vector<HistogramBin>& bins, std::size_t width) {
  std::size_t most = 1;
  double step = 0;
  for (const HistogramBin& bin : bins) {
    most = std::max(most, bin.count);
    const double own = bin.high - bin.low;
    if (own > 0) step = step > 0 ? std::min(step, own) : own;
  }
  // So many that neighbouring edges differ.
  const int decimals = step > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(step))), 0, 6) : 3;
  std::size_t range_width = 0;
  std::vector<std::string> lines;
  for (const HistogramBin& bin : bins) {
    lines.push_back(fmt::format("{:.{}f} .. {:.{}f}", bin.low, decimals, bin.high, decimals));
    range_width = std::max(range_width, lines.back().size());
  }
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const std::size_t bar = (bins[i].count * width + most - 1) / most;
    lines[i] = fmt::format("{:>{}}  {}{}{}", lines[i], range_width, std::string(bar, '#'),
                           bar == 0 ? "" : " ", bins[i].count);
  }
  return lines;
}

}  // namespace tiletune
