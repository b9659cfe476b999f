#include "base/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

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

namespace {

/// The largest r (1-based) for which [x[r], x[n+1-r]] covers the median with probability >= 95%: the coverage
/// is 1 - 2 P(B <= r - 1) with B binomial(n, 1/2).
std::size_t interval_rank(std::size_t n) {
  constexpr double kTail = 0.025;
  const double log_half_n = static_cast<double>(n) * std::log(0.5);
  const auto log_factorial = [](std::size_t k) { return std::lgamma(static_cast<double>(k) + 1); };
  double cumulative = 0;
  std::size_t rank = 0;
  for (std::size_t k = 0; k < n / 2; ++k) {
    cumulative += std::exp(log_half_n + log_factorial(n) - log_factorial(k) - log_factorial(n - k));
    if (cumulative > kTail) break;
    rank = k + 1;
  }
  return std::max<std::size_t>(rank, 1);
}

}  // namespace

void Timing::complete() { *this = summarise(std::move(*this)); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

Timing summarise(Samples samples) {
  Timing timing{std::move(samples)};
  std::vector<double> sorted = timing.times_us;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  timing.median_us = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  const std::size_t rank = interval_rank(n);
  timing.ci_low_us = sorted[rank - 1];
  timing.ci_high_us = sorted[n - rank];
  timing.min_us = sorted.front();
  timing.mean_us = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(n);
  double squares = 0;
  for (const double sample : sorted) squares += (sample - timing.mean_us) * (sample - timing.mean_us);
  timing.stddev_us = n > 1 ? std::sqrt(squares / static_cast<double>(n - 1)) : 0;
  if (!timing.clocks_mhz.empty()) {
    timing.sm_clock_mhz = median(timing.clocks_mhz);
    std::vector<double> cycles;
    for (std::size_t i = 0; i < n; ++i) cycles.push_back(timing.times_us[i] * timing.clocks_mhz[i]);
    timing.median_cycles = median(std::move(cycles));
  }
  const std::size_t gpus = timing.gpu_times_us.empty() ? 0 : timing.gpu_times_us.front().size();
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    std::vector<double> times;
    for (const std::vector<double>& sample : timing.gpu_times_us) times.push_back(sample[gpu]);
    timing.gpu_medians_us.push_back(median(std::move(times)));
  }
  return timing;
}

namespace {

std::vector<double> shared_ranks(std::span<const double> values) {
  std::vector<std::uint32_t> places(values.size());  // of the values, that of the smallest first
  std::iota(places.begin(), places.end(), 0U);
  std::ranges::stable_sort(places, {}, [&](std::uint32_t place) { return values[place]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < places.size();) {
    std::size_t last = first;
    while (last + 1 < places.size() && values[places[last + 1]] == values[places[first]]) ++last;
    const double mean = static_cast<double>(first + last) / 2;
    for (std::size_t i = first; i <= last; ++i) ranks[places[i]] = mean;
    first = last + 1;
  }
  return ranks;
}

}  // namespace

std::optional<double> spearman(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> ranks_a = shared_ranks(a);
  const std::vector<double> ranks_b = shared_ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double product = 0;
  double square_a = 0;
  double square_b = 0;
  for (std::size_t i = 0; i < ranks_a.size(); ++i) {
    product += (ranks_a[i] - mean) * (ranks_b[i] - mean);
    square_a += (ranks_a[i] - mean) * (ranks_a[i] - mean);
    square_b += (ranks_b[i] - mean) * (ranks_b[i] - mean);
  }
  if (square_a == 0 || square_b == 0) return std::nullopt;
  return product / std::sqrt(square_a * square_b);
}

}  // namespace tiletune
