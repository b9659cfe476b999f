#include "measure/run_clock.h"

#include "base/statistics.h"

namespace tiletune {

namespace {

constexpr std::size_t kRemembered = 101;
constexpr double kThrottled = 0.9;

}  // namespace

void RunClock::add(double mhz) {
  recent_.push_back(mhz);
  if (recent_.size() > kRemembered) recent_.pop_front();
}

std::optional<double> RunClock::mhz() const {
  if (recent_.empty()) return std::nullopt;
  return median({recent_.begin(), recent_.end()});
}

bool RunClock::is_throttled(double mhz) const {
  const auto usual = this->mhz();
  return usual && mhz < kThrottled * *usual;
}

}  // namespace tiletune
