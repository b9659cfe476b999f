#include "measure/instruments.h"

#include <atomic>

#include "base/statistics.h"

namespace tiletune {

namespace {

constexpr std::int64_t kLeastBytes = std::int64_t{16} << 20;

constexpr std::uint64_t kDeadlineNs = 500'000'000;

/// The nanosecond timer is off by up to two of its steps over a stretch: so many steps make 0.4%.
constexpr std::uint64_t kFewestSteps = 500;

}  // namespace

CacheFlush::CacheFlush(Gpu& gpu, DeviceKernels& kernels)
    : gpu_(gpu),
      kernels_(kernels),
      memory_(static_cast<std::size_t>(std::max(2 * gpu.facts().l2_bytes, kLeastBytes))) {
  dirty();
  kernels_.prepare("read_memory");
}

Blocker::Blocker(DeviceKernels& kernels)
    : kernels_(kernels), memory_(2 * sizeof(std::uint32_t)), words_(new (memory_.data()) std::uint32_t[2]{}) {
  kernels_.prepare("block_stream");
}

void Blocker::block() {
  if (!works()) return;
  ++ticket_;
  kernels_.block_stream(address_, ticket_, kDeadlineNs);
}

void Blocker::release() {
  // Everything that the stream is to run was queued before; the kernel polls this word.
  std::atomic_ref<std::uint32_t>(words_[0]).store(ticket_, std::memory_order_release);
}

bool Blocker::gave_up() {
  const bool gave_up = works() && ticket_ != 0 &&
                       std::atomic_ref<std::uint32_t>(words_[1]).load(std::memory_order_acquire) == ticket_;
  failures_ = gave_up ? failures_ + 1 : works() ? 0 : failures_;
  return gave_up;
}

ClockProbe::ClockProbe(Gpu& gpu, DeviceKernels& kernels, int most_readings)
    : gpu_(gpu),
      kernels_(kernels),
      multiprocessors_(gpu.facts().multiprocessors),
      readings_(static_cast<std::size_t>(multiprocessors_) * static_cast<std::size_t>(most_readings)),
      memory_(sizeof(Reading) * readings_.size()),
      timer_step_ns_(kernels.timer_step_ns()) {
  kernels_.prepare("probe_clock");
}

void ClockProbe::clear() { gpu_.fill8(memory_.address(), 0, memory_.bytes()); }

void ClockProbe::read(int index) {
  const auto place = static_cast<std::size_t>(index) * static_cast<std::size_t>(multiprocessors_);
  kernels_.probe_clock(memory_.address() + sizeof(Reading) * place, multiprocessors_);
}

void ClockProbe::collect() { gpu_.copy_to_host(readings_.data(), memory_.address(), memory_.bytes()); }

std::optional<double> ClockProbe::mhz(int from, int to) const {
  constexpr double kMegahertzPerCycleInNanosecond = 1e3;
  std::vector<double> clocks;
  const auto probes = static_cast<std::size_t>(multiprocessors_);
  for (std::size_t i = 0; i < probes; ++i) {
    const Reading& first = readings_[static_cast<std::size_t>(from) * probes + i];
    const Reading& last = readings_[static_cast<std::size_t>(to) * probes + i];
    const bool both = first.nanoseconds != 0 && last.nanoseconds > first.nanoseconds;
    if (!both || last.cycles <= first.cycles) continue;
    const std::uint64_t elapsed_ns = last.nanoseconds - first.nanoseconds;
    if (elapsed_ns < kFewestSteps * timer_step_ns_) continue;
    clocks.push_back(kMegahertzPerCycleInNanosecond * static_cast<double>(last.cycles - first.cycles) /
                     static_cast<double>(elapsed_ns));
  }
  if (clocks.empty()) return std::nullopt;
  return median(std::move(clocks));
}

}  // namespace tiletune
