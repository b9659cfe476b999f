#include "measure/launch_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tiletune {

namespace {

constexpr double kShare = 0.05;

}  // namespace

std::string LaunchTally::reason() const {
  return fmt::format("{} of {} timed launches that were checked {} wrong: {}", wrong, checked,
                     wrong == 1 ? "is" : "are", first_fault);
}

void LaunchTally::drop_checks() {
  checked = 0;
  wrong = 0;
  first_fault.clear();
}

std::vector<bool> CheckBudget::choose(int samples, double sample_us, const LaunchTally& tally) {
  const auto count = static_cast<std::size_t>(samples);
  std::vector<bool> chosen(count, false);
  chosen.back() = count > 1 || tally.queued == 0;
  if (tally.check_us <= 0) return chosen;
  const double left_us = kShare * (measured_us_ + samples * sample_us) - checked_us_;
  const double affordable = std::clamp(left_us / tally.check_us, 0.0, static_cast<double>(count));
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end() - (chosen.back() ? 1 : 0), random_);
  auto left = static_cast<std::size_t>(affordable);
  if (chosen.back() && left > 0) --left;
  for (std::size_t i = 0; i < std::min(left, count); ++i) chosen[order[i]] = true;
  return chosen;
}

void CheckBudget::spend(double series_us, double checks_us) {
  measured_us_ += series_us;
  checked_us_ += checks_us;
}

}  // namespace tiletune
