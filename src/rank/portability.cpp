#include "rank/portability.h"

#include <algorithm>
#include <vector>

namespace tiletune {

namespace {

/// Where the smallest values of a list end.
class Cut {
 public:
  Cut(std::span<const double> values, std::size_t top) {
    std::vector<double> sorted(values.begin(), values.end());
    top = std::min(top, sorted.size());
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(top) - 1;
    std::nth_element(sorted.begin(), last, sorted.end());
    last_ = *last;
    const auto below = std::count_if(values.begin(), values.end(), [&](double v) { return v < last_; });
    const auto equal = std::count(values.begin(), values.end(), last_);
    share_of_last_ = (static_cast<double>(top) - static_cast<double>(below)) / static_cast<double>(equal);
  }

  double share(double value) const {
    if (value == last_) return share_of_last_;
    return value < last_ ? 1 : 0;
  }

 private:
  double last_ = 0;
  double share_of_last_ = 0;
};

}  // namespace

std::optional<double> pennycook(std::span<const double> efficiencies) {
  if (efficiencies.empty()) return std::nullopt;
  double reciprocals = 0;
  for (const double efficiency : efficiencies) {
    if (efficiency <= 0) return 0;
    reciprocals += 1 / efficiency;
  }
  return static_cast<double>(efficiencies.size()) / reciprocals;
}

std::size_t top_percent(std::size_t count) { return (count + 99) / 100; }

double shared_of_smallest(std::span<const double> a, std::span<const double> b, std::size_t top) {
  if (top == 0 || a.empty()) return 0;
  const Cut cut_a(a, top);
  const Cut cut_b(b, top);
  double shared = 0;
  for (std::size_t i = 0; i < a.size(); ++i) shared += cut_a.share(a[i]) * cut_b.share(b[i]);
  return shared;
}

}  // namespace tiletune
