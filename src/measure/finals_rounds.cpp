#include "measure/finals_rounds.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tiletune {

namespace {

constexpr std::size_t kFewestRoundsToJudge = 20;
constexpr std::size_t kRoundsBetween = 5;
/// As buffers move every ten rounds, these are four places in memory.
constexpr std::size_t kFewestRoundsToEnd = 40;
/// Beyond the leader's interval, in relation to its end.
constexpr double kMargin = 1.002;
/// Half of the interval, in relation to the median, with which a place in the ranking is settled.
constexpr double kSettled = 0.002;
/// The same, with which a time is known well enough.
constexpr double kKnown = 0.001;
constexpr int kFewestRounds = 12;

/// Half of the interval, in relation to the median.
double uncertainty(const Timing& timing) {
  return (timing.ci_high_us - timing.ci_low_us) / 2 / timing.median_us;
}

}  // namespace

void drop_slow_finalists(std::vector<FinalistSamples>& finalists) {
  std::optional<Timing> leader;
  for (const FinalistSamples& finalist : finalists) {
    if (!finalist.competes || finalist.is_out || finalist.samples.times_us.size() < kFewestRoundsToJudge)
      continue;
    const Timing timing = summarise(finalist.samples);
    if (!leader || timing.median_us < leader->median_us) leader = timing;
  }
  if (!leader || leader->times_us.size() % kRoundsBetween != 0) return;
  for (FinalistSamples& finalist : finalists) {
    if (finalist.is_out || finalist.stays || finalist.samples.times_us.empty()) continue;
    const Timing timing = summarise(finalist.samples);
    finalist.is_out = uncertainty(timing) <= kSettled && timing.ci_low_us > kMargin * leader->ci_high_us;
  }
}

bool are_times_known(const std::vector<FinalistSamples>& finalists) {
  return std::all_of(finalists.begin(), finalists.end(), [](const FinalistSamples& finalist) {
    const std::size_t rounds = finalist.samples.times_us.size();
    if (finalist.is_out || rounds == 0) return true;
    return rounds >= kFewestRoundsToEnd && rounds % kRoundsBetween == 0 &&
           uncertainty(summarise(finalist.samples)) <= (finalist.competes ? kKnown : kSettled);
  });
}

int rounds_for(double round_us, int most, double longest_us) {
  const double affordable = std::floor(longest_us / std::max(round_us, 1.0));
  const int fewest = std::min(kFewestRounds, most);
  return static_cast<int>(std::clamp(affordable, static_cast<double>(fewest), static_cast<double>(most)));
}

}  // namespace tiletune
