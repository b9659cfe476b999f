#include "measure/sampling.h"

namespace tiletune {

namespace {

constexpr std::size_t kRemembered = 101;
constexpr double kThrottled = 0.9;

constexpr int kScreeningSamples = 3;
constexpr int kFewestSamples = 6;
constexpr int kStep = 4;
constexpr double kPatienceUs = 0.25e6;
/// One sample beyond the bound by so much is enough; nearer to it three decide.
constexpr double kConfidentFactor = 1.25;

/// Keeps the samples that count. Throttled ones are taken again, until as many were thrown away as may be
/// taken at all, or a quarter of a second is spent: a kernel that throttles the GPU by itself is measured as
/// it is.
class Sampler {
 public:
  Sampler(const TakeShots& take, int most, RunClock& clock) : take_(take), most_(most), clock_(clock) {}

  /// Until `count` samples are there in all.
  void reach(int count) {
    while (static_cast<int>(samples_.times_us.size()) < count)
      for (const Shot& shot : take_(count - static_cast<int>(samples_.times_us.size()))) keep(shot);
  }
  const std::vector<double>& times_us() const { return samples_.times_us; }
  double spent_us() const { return spent_us_; }
  Samples samples() const {
    Samples samples = samples_;
    if (samples.clocks_mhz.size() != samples.times_us.size()) samples.clocks_mhz.clear();
    return samples;
  }

 private:
  void keep(const Shot& shot) {
    spent_us_ += shot.time_us;
    const bool may_retry = samples_.discarded < most_ && spent_us_ < kPatienceUs;
    if (may_retry && shot.clock_mhz && clock_.is_throttled(*shot.clock_mhz)) {
      ++samples_.discarded;
      return;
    }
    samples_.times_us.push_back(shot.time_us);
    if (!shot.gpu_times_us.empty()) samples_.gpu_times_us.push_back(shot.gpu_times_us);
    if (!shot.clock_mhz) return;
    samples_.clocks_mhz.push_back(*shot.clock_mhz);
    clock_.add(*shot.clock_mhz);
  }

  const TakeShots& take_;
  int most_;
  RunClock& clock_;
  Samples samples_;
  double spent_us_ = 0;
};

/// The lower bound of a median of so few samples is the fastest of them.
bool all_above(const std::vector<double>& times_us, double bound_us) {
  return *std::min_element(times_us.begin(), times_us.end()) > bound_us;
}

bool is_screened_out(Sampler& sampler, int most, double bound_us) {
  sampler.reach(1);
  if (all_above(sampler.times_us(), kConfidentFactor * bound_us)) return true;
  sampler.reach(std::min(kScreeningSamples, most));
  return all_above(sampler.times_us(), bound_us);
}

bool is_precise(const MeasurePolicy& policy, const Samples& samples) {
  if (policy.precision_percent <= 0) return false;
  constexpr double kPercent = 100;
  const Timing timing = summarise(samples);
  const double half_width = (timing.ci_high_us - timing.ci_low_us) / 2;
  return kPercent * half_width <= policy.precision_percent * timing.median_us;
}

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

Sampled sample(const MeasurePolicy& policy, const Expectation& expectation, RunClock& clock,
               const TakeShots& take) {
  Sampler sampler(take, policy.samples, clock);
  if (expectation.leader_us && policy.screening > 0) {
    const double bound_us = policy.screening * *expectation.leader_us;
    if (expectation.estimate_us - kLongestLoadUs > bound_us)
      return {Samples{{expectation.estimate_us}}, true};
    if (is_screened_out(sampler, policy.samples, bound_us)) return {sampler.samples(), true};
  }
  sampler.reach(std::min(kScreeningSamples, policy.samples));
  for (int next = kFewestSamples; static_cast<int>(sampler.times_us().size()) < policy.samples;
       next += kStep) {
    if (sampler.spent_us() > kPatienceUs) break;
    sampler.reach(std::min(next, policy.samples));
    if (is_precise(policy, sampler.samples())) break;
  }
  return {sampler.samples(), false};
}

}  // namespace tiletune
