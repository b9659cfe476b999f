#include "measure/sustained.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/statistics.h"

namespace tiletune {

namespace {

/// Two batches are queued at any time, so that the GPU never waits for the host.
constexpr double kBatchUs = 20e3;

/// Launches without a pause and reads the meters between batches.
class SustainedRun {
 public:
  SustainedRun(Gpu& gpu, const Nvml& nvml, const Subject& subject, double estimate_us,
               const std::function<void()>& beat)
      : gpu_(gpu),
        nvml_(nvml),
        subject_(subject),
        beat_(beat),
        launches_(std::max(1, static_cast<int>(kBatchUs / std::max(estimate_us, 1.0)))) {}

  /// Time of one launch in the long run, us.
  double run_for(double seconds) {
    clocks_mhz_.clear();
    powers_w_.clear();
    const std::optional<double> energy_before_j = nvml_.energy_j();
    const Clock::time_point started = Clock::now();
    long launches = 0;
    queue(marks_[0]);
    while (seconds_since(started) < seconds) {
      queue(marks_[1]);
      wait(marks_[0]);
      std::swap(marks_[0], marks_[1]);
      launches += launches_;
      read_meters();
      beat_();
    }
    wait(marks_[0]);
    launches += launches_;
    const double spent_s = seconds_since(started);
    const std::optional<double> energy_after_j = nvml_.energy_j();
    if (energy_before_j && energy_after_j)
      mean_power_w_ = (*energy_after_j - *energy_before_j) / seconds_since(started);
    constexpr double kMicrosecondsPerSecond = 1e6;
    return spent_s * kMicrosecondsPerSecond / static_cast<double>(launches);
  }

  std::optional<double> clock_mhz() const { return median_of(clocks_mhz_); }
  std::optional<double> power_w() const { return mean_power_w_ ? mean_power_w_ : median_of(powers_w_); }

 private:
  void queue(const std::unique_ptr<Event>& mark) {
    for (int i = 0; i < launches_; ++i) subject_.launch(0);
    gpu_.record(*mark);
  }

  void wait(const std::unique_ptr<Event>& mark) { gpu_.wait(*mark); }

  void read_meters() {
    if (const auto mhz = nvml_.sm_clock_mhz()) clocks_mhz_.push_back(*mhz);
    if (const auto watts = nvml_.power_w()) powers_w_.push_back(*watts);
  }

  static std::optional<double> median_of(const std::vector<double>& values) {
    if (values.empty()) return std::nullopt;
    return median(values);
  }

  Gpu& gpu_;
  const Nvml& nvml_;
  const Subject& subject_;
  const std::function<void()>& beat_;
  int launches_;
  std::unique_ptr<Event> marks_[2] = {std::make_unique<Event>(), std::make_unique<Event>()};
  std::vector<double> clocks_mhz_;
  std::vector<double> powers_w_;
  std::optional<double> mean_power_w_;
};

}  // namespace

Sustained run_sustained(Gpu& gpu, const Nvml& nvml, const Subject& subject, double estimate_us,
                        double seconds, const std::function<void()>& beat) {
  SustainedRun run(gpu, nvml, subject, estimate_us, beat);
  run.run_for(seconds / 2);
  Sustained sustained;
  sustained.launch_us = run.run_for(seconds / 2);
  sustained.sm_clock_mhz = run.clock_mhz();
  sustained.power_w = run.power_w();
  return sustained;
}

}  // namespace tiletune
