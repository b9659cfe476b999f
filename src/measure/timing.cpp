#include "measure/timing.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace tiletune {

namespace {

constexpr std::int64_t kSmallestFlush = std::int64_t{16} << 20;
constexpr double kPatienceUs = 1e6;
constexpr std::size_t kFewestSamples = 3;

}  // namespace

Timer::Timer(Gpu& gpu, std::function<void()> beat)
    : gpu_(gpu),
      beat_(std::move(beat)),
      flush_(static_cast<std::size_t>(std::max(2 * gpu.facts().l2_bytes, kSmallestFlush))) {}

double Timer::sample(CachePolicy cache, const std::function<void()>& launch) {
  // A warm sample is preceded by a launch of its own: the cache holds what the kernel left there.
  if (cache == CachePolicy::cold) {
    gpu_.fill32(flush_.address(), 0, flush_.bytes() / sizeof(std::uint32_t));
  } else {
    launch();
    gpu_.synchronize();
    beat_();
  }
  gpu_.record(begin_);
  launch();
  gpu_.record(end_);
  gpu_.synchronize();
  beat_();
  return gpu_.elapsed_us(begin_, end_);
}

Timing Timer::time(const MeasurePolicy& policy, const std::function<void()>& launch) {
  for (int i = 0; i < policy.warmup; ++i) {
    launch();
    gpu_.synchronize();
    beat_();
  }
  std::vector<double> samples_us;
  double spent_us = 0;
  while (samples_us.size() < static_cast<std::size_t>(policy.samples)) {
    if (samples_us.size() >= kFewestSamples && spent_us > kPatienceUs) break;
    samples_us.push_back(sample(policy.cache, launch));
    spent_us += samples_us.back();
  }
  return summarise({std::move(samples_us)});
}

}  // namespace tiletune
