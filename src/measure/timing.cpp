#include "measure/timing.h"

namespace tiletune {

namespace {

/// So long a series of samples may take between two signs of life.
constexpr double kLongestSeriesUs = 0.25e6;
/// Single launches of a kernel before it is known whether it needs batches.
constexpr int kFirstSamples = 3;
/// A first sample that takes so many times batch_below_us settles that the kernel needs no batches.
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

void restore(const Subject& subject, const CopyRange& copies) {
  if (subject.buffers != nullptr) subject.buffers->invalidate(copies, subject.inputs);
  if (subject.prepare) subject.prepare(copies.first);
}

Timer::Timer(Gpu& gpu, DeviceKernels& kernels, std::function<void()> heartbeat, std::function<void()> wait)
    : gpu_(gpu),
      kernels_(kernels),
      heartbeat_(std::move(heartbeat)),
      wait_(std::move(wait)),
      flush_(gpu, kernels),
      blocker_(kernels),
      probe_(gpu, kernels, 2 * kLongestSeries),
      begins_(kLongestSeries),
      ends_(kLongestSeries) {
  flush_.clean();
  gpu_.synchronize();
  wake();
  const Part nothing{[this] { flush_.clean(); }, [] {}};
  event_floor_us_ = median(times_of(in_series(nothing, kFloorSamples, 1, 1)));
}

bool Timer::needs_batch(const MeasurePolicy& policy, double single_us, std::optional<double> leader_us) {
  const bool leader_is_short = leader_us && *leader_us < policy.batch_below_us;
  return single_us < policy.batch_below_us * (leader_is_short ? 2 : 1);
}

void Timer::wake() {
  using std::chrono::steady_clock;
  const auto started = steady_clock::now();
  const Part busy{[] {}, [this] { flush_.clean(); }};
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
  const Subject nothing{[this](std::size_t) { kernels_.launch_empty(); }};
  estimate_us([&] { nothing.launch(0); });
  calibration.event_floor_us = event_floor_us_;
  calibration.empty_kernel_us = median(times_of(singles(nothing, CachePolicy::cold, 1, kFloorSamples)));
  const Batch batch = record_batch(nothing);
  calibration.empty_kernel_batch_us =
      median(times_of(batches(nothing, batch, CachePolicy::warm, kFloorSamples)));
}

double Timer::estimate_us(const std::function<void()>& launch) {
  gpu_.record(begins_.front());
  launch();
  gpu_.record(ends_.front());
  if (wait_) wait_();
  const double time_us = gpu_.elapsed_us(begins_.front(), ends_.front());
  heartbeat_();
  return time_us;
}

std::vector<Shot> Timer::read(const Subject* subject, int count, int launches) {
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
  if (subject != nullptr && subject->gpu_times_us) add_gpu_times(*subject, shots);
  return shots;
}

/// A launch takes no less than the slowest GPU's part.
void Timer::add_gpu_times(const Subject& subject, std::vector<Shot>& shots) const {
  const auto times = subject.gpu_times_us(static_cast<int>(shots.size()));
  for (std::size_t i = 0; i < shots.size(); ++i) {
    Shot& shot = shots[i];
    shot.time_us = std::max(shot.time_us - subject.floor_us, kShortestUs);
    for (const double time_us : times.at(i)) {
      shot.gpu_times_us.push_back(std::max(time_us - event_floor_us_, kShortestUs));
      shot.time_us = std::max(shot.time_us, shot.gpu_times_us.back());
    }
  }
}

std::vector<Shot> Timer::series(const Part& part, int count, int launches) {
  const bool is_checked = part.subject != nullptr && part.subject->tally != nullptr;
  if (is_checked)
    part.subject->buffers->checks().reserve(static_cast<std::size_t>(count) *
                                            static_cast<std::size_t>(launches));
  probe_.clear();
  blocker_.block();
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    // Before the preparation, which takes long enough for the launch to be set up meanwhile.
    probe_.read(2 * i);
    part.prepare();
    gpu_.record(begins_[at]);
    part.timed();
    gpu_.record(ends_[at]);
    probe_.read(2 * i + 1);
    if (is_checked) part.subject->buffers->queue_check(part.copies(), part.subject->tally);
  }
  blocker_.release();
  if (wait_) wait_();
  gpu_.synchronize();
  last_busy_ = std::chrono::steady_clock::now();
  heartbeat_();
  if (blocker_.gave_up()) return {};
  return read(part.subject, count, launches);
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

/// What is flushed is flushed after the outputs were filled: their lines are written back before the launch.
/// A warm launch finds what one before it left, and what that one had read, but other inputs there.
void Timer::bring_cache_to(CachePolicy cache, const Subject& subject, const CopyRange& copies) {
  if (cache == CachePolicy::warm && copies.count == 1) {
    restore(subject, copies);
    subject.launch(copies.first);
  }
  restore(subject, copies);
  if (cache == CachePolicy::dirty) return flush_.dirty();
  if (cache != CachePolicy::warm) return flush_.clean();
  if (subject.buffers != nullptr) subject.buffers->touch_inputs();
}

std::vector<Shot> Timer::singles(const Subject& subject, CachePolicy cache, double estimate_us, int count) {
  const bool rotates = cache == CachePolicy::rotate;
  const std::size_t copies = rotates ? subject.copies() : 1;
  CopyRange timed;
  Part part;
  part.subject = &subject;
  part.prepare = [&] {
    if (!rotates) return bring_cache_to(cache, subject, timed);
    // Its lines make way for those of the launch on another copy.
    const std::size_t before = next_copy_++ % copies;
    timed.first = next_copy_++ % copies;
    restore(subject, timed);
    subject.launch(before);
    if (subject.prepare) subject.prepare(timed.first);
  };
  part.timed = [&] { subject.launch(timed.first); };
  part.copies = [&] { return timed; };
  const bool launches_before = rotates || cache == CachePolicy::warm;
  return in_series(part, count, launches_before ? 2 * estimate_us : estimate_us, 1);
}

std::vector<double> Timer::parts_us(const Subject& subject, const std::vector<std::function<void()>>& parts,
                                    CachePolicy cache, double estimate_us) {
  std::vector<double> times;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part part;
    part.prepare = [&] {
      bring_cache_to(cache, subject, {});
      for (std::size_t before = 0; before < i; ++before) parts[before]();
    };
    part.timed = parts[i];
    times.push_back(median(times_of(in_series(part, kIsolatedSamples, estimate_us, 1))));
  }
  return times;
}

Batch Timer::record(const Subject& subject, std::size_t copies, int launches) {
  Batch batch;
  batch.launches = launches;
  batch.graph = std::make_unique<Graph>(gpu_, [&] {
    for (int i = 0; i < launches; ++i) subject.launch(static_cast<std::size_t>(i) % copies);
  });
  // The first launch of a graph loads it.
  batch.graph->launch();
  gpu_.synchronize();
  heartbeat_();
  return batch;
}

Batch Timer::record_batch(const Subject& subject) {
  if (subject.buffers == nullptr) return record(subject, 1, kBatch);
  const std::size_t copies = subject.copies();
  return record(subject, copies, static_cast<int>(copies));
}

std::vector<Shot> Timer::batches(const Subject& subject, const Batch& batch, CachePolicy cache, int count) {
  const CopyRange all{0, static_cast<std::size_t>(batch.launches)};
  Part part;
  part.subject = &subject;
  part.prepare = [&] { bring_cache_to(cache, subject, all); };
  part.timed = [&] { batch.graph->launch(); };
  part.copies = [&] { return all; };
  return in_series(part, count, 1, batch.launches);
}

double Timer::eager_us(const Subject& subject) {
  const CopyRange all{0, subject.copies()};
  if (subject.tally) subject.buffers->checks().reserve(all.count);
  bring_cache_to(CachePolicy::cold, subject, all);
  gpu_.synchronize();
  const double time_us = estimate_us([&] {
    for (std::size_t copy = 0; copy < all.count; ++copy) subject.launch(copy);
  });
  if (subject.tally) subject.buffers->queue_check(all, subject.tally);
  return std::max(time_us - event_floor_us_, kShortestUs) / static_cast<double>(all.count);
}

Sampled Timer::time_in_batches(const MeasurePolicy& policy, const Subject& subject,
                               std::optional<double> leader_us) {
  const std::vector<Shot> singles =
      this->singles(subject, policy.cache, policy.batch_below_us, kIsolatedSamples);
  const Batch batch = record_batch(subject);
  Sampled sampled = sample(policy, {0, leader_us}, clock_,
                           [&](int count) { return batches(subject, batch, policy.cache, count); });
  sampled.samples.batch = batch.launches;
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
  std::vector<Shot> first;
  if (policy.batch_below_us > 0 && *estimate_us < kLongestLoadUs) {
    first = singles(subject, policy.cache, *estimate_us, 1);
    estimate_us = first.front().time_us;
    if (*estimate_us < kClearlyLong * policy.batch_below_us) {
      for (const Shot& shot : singles(subject, policy.cache, *estimate_us, kFirstSamples - 1))
        first.push_back(shot);
      const std::vector<double> times = times_of(first);
      estimate_us = *std::min_element(times.begin(), times.end());
      if (needs_batch(policy, *estimate_us, leader_us)) return time_in_batches(policy, subject, leader_us);
    }
  }
  return sample(policy, {*estimate_us, leader_us}, clock_, [&](int count) {
    if (!first.empty()) return std::exchange(first, {});
    return singles(subject, policy.cache, *estimate_us, count);
  });
}

}  // namespace tiletune
