#include "measure/timing.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tiletune {

namespace {

constexpr std::int64_t kSmallestFlush = std::int64_t{16} << 20;
/// So long a series of samples may take between two signs of life.
constexpr double kLongestSeriesUs = 0.25e6;
/// Single launches of a kernel before it is known whether it needs batches.
constexpr int kFirstSamples = 3;
/// A single sample that takes so many times what is short needs no second opinion.
constexpr double kClearlyLong = 4;
constexpr int kFloorSamples = 31;
constexpr double kShortestUs = 1e-3;
/// After so long a pause the GPU may have lowered its clock; it is up again when so many series in a row ran
/// at the same one.
constexpr auto kIdle = std::chrono::milliseconds(100);
constexpr auto kLongestWake = std::chrono::milliseconds(500);
constexpr int kSteadySeries = 3;
constexpr double kSteadyClock = 0.01;

std::vector<double> times_of(const std::vector<Shot>& shots) {
  std::vector<double> times;
  times.reserve(shots.size());
  for (const Shot& shot : shots) times.push_back(shot.time_us);
  return times;
}

}  // namespace

Preparation preparation_for(CachePolicy cache, bool batch) {
  if (cache == CachePolicy::warm) return Preparation::warm;
  return cache == CachePolicy::rotate || batch ? Preparation::rotate : Preparation::flush;
}

Timer::Timer(Gpu& gpu, DeviceKernels& kernels, std::function<void()> beat)
    : gpu_(gpu),
      kernels_(kernels),
      beat_(std::move(beat)),
      flush_(static_cast<std::size_t>(std::max(2 * gpu.facts().l2_bytes, kSmallestFlush))),
      blocker_(kernels),
      probe_(gpu, kernels, 2 * kLongestSeries),
      begins_(kLongestSeries),
      ends_(kLongestSeries) {
  flush();
  gpu_.synchronize();
  wake();
  event_floor_us_ = measure_event_floor();
}

bool Timer::needs_batch(const MeasurePolicy& policy, double single_us, std::optional<double> leader_us) {
  const bool leader_is_short = leader_us && *leader_us < policy.batch_below_us;
  return single_us < policy.batch_below_us * (leader_is_short ? 2 : 1);
}

void Timer::flush() { gpu_.fill32(flush_.address(), 0, flush_.bytes() / sizeof(std::uint32_t)); }

double Timer::measure_event_floor() {
  const Part nothing{[this](int) { flush(); }, [](int) {}};
  return median(times_of(in_series(nothing, kFloorSamples, 1, 1)));
}

void Timer::wake() {
  using std::chrono::steady_clock;
  const auto started = steady_clock::now();
  const Part busy{[](int) {}, [this](int) { flush(); }};
  double last_mhz = 0;
  int steady = 0;
  while (steady < kSteadySeries && steady_clock::now() - started < kLongestWake) {
    const std::vector<Shot> shots = series(busy, kLongestSeries, 1);
    if (shots.empty() || !shots.back().clock_mhz) return;
    const double mhz = *shots.back().clock_mhz;
    steady = std::abs(mhz - last_mhz) < kSteadyClock * mhz ? steady + 1 : 0;
    last_mhz = mhz;
  }
}

void Timer::measure_floors(Calibration& calibration) {
  const Subject nothing{[this](std::size_t) { kernels_.launch_empty(); }, [] { return std::size_t{1}; }};
  estimate_us([&] { nothing.launch(0); });
  calibration.event_floor_us = event_floor_us_;
  calibration.empty_kernel_us = median(times_of(singles(nothing, Preparation::flush, 1, kFloorSamples)));
  const auto batch = record_batch(nothing, Preparation::warm);
  calibration.empty_kernel_batch_us = median(times_of(batches(*batch, Preparation::warm, kFloorSamples)));
}

double Timer::estimate_us(const std::function<void()>& launch) {
  gpu_.record(begins_.front());
  launch();
  gpu_.record(ends_.front());
  const double time_us = gpu_.elapsed_us(begins_.front(), ends_.front());
  beat_();
  return time_us;
}

std::vector<Shot> Timer::read(int count, int launches) {
  probe_.collect();
  std::vector<Shot> shots;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double elapsed_us = gpu_.elapsed_us(begins_[at], ends_[at]);
    Shot shot;
    // What is as short as the floor itself still takes some time: a nanosecond, as far as this can tell.
    shot.time_us = std::max(elapsed_us - event_floor_us_, kShortestUs) / launches;
    shot.clock_mhz = probe_.mhz(2 * i, 2 * i + 1);
    // A stretch too short for the GPU's timer: the clock of the whole series.
    if (!shot.clock_mhz) shot.clock_mhz = probe_.mhz(0, 2 * count - 1);
    shots.push_back(shot);
  }
  return shots;
}

std::vector<Shot> Timer::series(const Part& part, int count, int launches) {
  probe_.clear();
  blocker_.block();
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    // Before the preparation, which takes long enough for the launch to be set up meanwhile.
    probe_.read(2 * i);
    part.prepare(i);
    gpu_.record(begins_[at]);
    part.timed(i);
    gpu_.record(ends_[at]);
    probe_.read(2 * i + 1);
  }
  blocker_.release();
  gpu_.synchronize();
  last_busy_ = std::chrono::steady_clock::now();
  beat_();
  if (blocker_.gave_up()) return {};
  return read(count, launches);
}

std::vector<Shot> Timer::in_series(const Part& part, int count, double estimate_us, int launches) {
  const double fit = std::floor(kLongestSeriesUs / std::max(estimate_us, 1.0));
  const int longest = static_cast<int>(std::clamp(fit, 1.0, static_cast<double>(kLongestSeries)));
  std::vector<Shot> shots;
  while (static_cast<int>(shots.size()) < count) {
    const int left = count - static_cast<int>(shots.size());
    for (const Shot& shot : series(part, std::min(left, longest), launches)) shots.push_back(shot);
  }
  return shots;
}

std::vector<Shot> Timer::singles(const Subject& subject, Preparation preparation, double estimate_us,
                                 int count) {
  const std::size_t copies = preparation == Preparation::rotate ? subject.copies() : 1;
  const Part part{[&](int) {
                    if (preparation == Preparation::flush) flush();
                    if (preparation != Preparation::flush) subject.launch(next_copy_++ % copies);
                  },
                  [&](int) { subject.launch(next_copy_++ % copies); }};
  const double with_preparation_us = preparation == Preparation::flush ? estimate_us : 2 * estimate_us;
  return in_series(part, count, with_preparation_us, 1);
}

std::unique_ptr<Graph> Timer::record_batch(const Subject& subject, Preparation preparation) {
  const std::size_t copies = preparation == Preparation::rotate ? subject.copies() : 1;
  auto batch = std::make_unique<Graph>(gpu_, [&] {
    for (std::size_t i = 0; i < kBatch; ++i) subject.launch(i % copies);
  });
  // The first launch of a graph loads it.
  batch->launch();
  gpu_.synchronize();
  beat_();
  return batch;
}

std::vector<Shot> Timer::batches(Graph& batch, Preparation preparation, int count) {
  const Part part{[&](int) {
                    if (preparation != Preparation::warm) flush();
                  },
                  [&](int) { batch.launch(); }};
  return in_series(part, count, 1, kBatch);
}

Sampled Timer::time_in_batches(const MeasurePolicy& policy, const Subject& subject,
                               std::optional<double> leader_us) {
  const std::vector<Shot> singles =
      this->singles(subject, preparation_for(policy.cache, false), policy.batch_below_us, kIsolatedSamples);
  const Preparation preparation = preparation_for(policy.cache, true);
  const auto batch = record_batch(subject, preparation);
  Sampled sampled =
      sample(policy, {0, leader_us}, clock_, [&](int count) { return batches(*batch, preparation, count); });
  sampled.samples.batch = kBatch;
  sampled.samples.isolated_us = median(times_of(singles));
  return sampled;
}

Sampled Timer::time(const MeasurePolicy& policy, const Subject& subject, std::optional<double> estimate_us,
                    std::optional<double> leader_us) {
  if (std::chrono::steady_clock::now() - last_busy_ > kIdle) wake();
  const int warmups = estimate_us ? policy.warmup - 1 : std::max(policy.warmup, 1);
  for (int i = 0; i < warmups; ++i) {
    const double time_us = this->estimate_us([&] { subject.launch(0); });
    estimate_us = std::min(time_us, estimate_us.value_or(time_us));
  }
  const Preparation preparation = preparation_for(policy.cache, false);
  std::vector<Shot> first;
  if (policy.batch_below_us > 0 && *estimate_us < kLongestLoadUs) {
    first = singles(subject, preparation, *estimate_us, 1);
    estimate_us = first.front().time_us;
    if (*estimate_us < kClearlyLong * policy.batch_below_us) {
      for (const Shot& shot : singles(subject, preparation, *estimate_us, kFirstSamples - 1))
        first.push_back(shot);
      const std::vector<double> times = times_of(first);
      estimate_us = *std::min_element(times.begin(), times.end());
      if (needs_batch(policy, *estimate_us, leader_us)) return time_in_batches(policy, subject, leader_us);
    }
  }
  return sample(policy, {*estimate_us, leader_us}, clock_, [&](int count) {
    if (!first.empty()) return std::exchange(first, {});
    return singles(subject, preparation, *estimate_us, count);
  });
}

}  // namespace tiletune
