#pragma once

#include <cstddef>
#include <deque>
#include <optional>

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

}  // namespace tiletune
