#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/system.h"
#include "base/text.h"
#include "gpu/stream.h"
#include "measure/finals.h"

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
/// Half of the interval, in relation to the median, with which a time is known well enough.
constexpr double kKnown = 0.001;
constexpr int kFewestRounds = 12;

/// Half of the interval, in relation to the median.
double uncertainty(const Timing& timing) {
  return (timing.ci_high_us - timing.ci_low_us) / 2 / timing.median_us;
}

/// Launches that follow each other without a pause.
constexpr double kStretchUs = 20e3;

std::optional<double> median_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return median(values);
}

/// Launches for so long, and reads the meters between stretches of launches, of which two are queued at any
/// time.
class SustainedRun {
 public:
  SustainedRun(Gpu& gpu, const Nvml& nvml, const Subject& subject, const Batch& batch, int repetitions)
      : gpu_(gpu), nvml_(nvml), subject_(subject), batch_(batch), repetitions_(repetitions) {}

  Figures run(double seconds, const std::function<void()>& heartbeat) {
    const std::optional<double> energy_before_j = nvml_.energy_j();
    const Clock::time_point started = Clock::now();
    std::size_t oldest = 0;
    queue(oldest);
    while (seconds_since(started) < seconds) {
      queue(1 - oldest);
      finish(oldest);
      oldest = 1 - oldest;
      if (const auto mhz = nvml_.sm_clock_mhz()) clocks_mhz_.push_back(*mhz);
      if (const auto watts = nvml_.power_w()) powers_w_.push_back(*watts);
      heartbeat();
    }
    finish(oldest);
    const std::optional<double> energy_after_j = nvml_.energy_j();
    const double metered_s = seconds_since(started);
    std::optional<double> power_w = median_of(powers_w_);
    if (energy_before_j && energy_after_j) power_w = (*energy_after_j - *energy_before_j) / metered_s;
    return {{"sustained_us", spent_us_ / static_cast<double>(launches_)},
            {"sustained_clock_mhz", median_of(clocks_mhz_)},
            {"sustained_power_w", power_w}};
  }

 private:
  void queue(std::size_t stretch) {
    const CopyRange all{0, static_cast<std::size_t>(batch_.launches)};
    if (subject_.tally) subject_.buffers->checks().reserve(all.count);
    restore(subject_, all);
    gpu_.record(begins_.at(stretch));
    for (int i = 0; i < repetitions_; ++i) batch_.graph ? batch_.graph->launch() : subject_.launch(0);
    gpu_.record(ends_.at(stretch));
    if (subject_.tally) subject_.buffers->queue_check(all, subject_.tally);
    launches_ += static_cast<long>(repetitions_) * batch_.launches;
  }
  void finish(std::size_t stretch) { spent_us_ += gpu_.elapsed_us(begins_.at(stretch), ends_.at(stretch)); }

  Gpu& gpu_;
  const Nvml& nvml_;
  const Subject& subject_;
  const Batch& batch_;
  int repetitions_;
  std::array<Event, 2> begins_, ends_;
  double spent_us_ = 0;
  long launches_ = 0;
  std::vector<double> clocks_mhz_, powers_w_;
};

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

Figures run_sustained(Gpu& gpu, const Nvml& nvml, const Subject& subject, const Batch& batch,
                      double estimate_us, double seconds, const std::function<void()>& heartbeat) {
  const double batch_us = std::max(estimate_us, 1.0) * batch.launches;
  // What is read and written is right once.
  const auto& buffers = subject.buffers->request().workload.buffers;
  const bool accumulates = std::any_of(buffers.begin(), buffers.end(),
                                       [](const auto& one) { return one.role == BufferRole::inout; });
  const int repetitions = accumulates ? 1 : std::max(1, static_cast<int>(kStretchUs / batch_us));
  SustainedRun(gpu, nvml, subject, batch, repetitions).run(seconds / 2, heartbeat);
  return SustainedRun(gpu, nvml, subject, batch, repetitions).run(seconds / 2, heartbeat);
}

HostCopies::HostCopies(Gpu& gpu, ProblemBuffers& buffers, Timer& timer)
    : gpu_(gpu), buffers_(buffers), timer_(timer) {
  const Workload& workload = buffers.request().workload;
  // An inout buffer has two: what it holds before a launch, and after it.
  std::uint64_t needed = 0;
  for (const Workload::SizedBuffer& buffer : workload.buffers)
    needed += static_cast<std::uint64_t>(buffer.bytes()) * (buffer.role == BufferRole::inout ? 2 : 1);
  // The system would rather end processes than refuse memory that it does not have.
  const auto available = available_memory_bytes();
  if (available && needed > *available)
    throw GpuError(fmt::format("inputs and outputs {} > {} of host memory that are available",
                               human_bytes(needed), human_bytes(*available)));
  for (const Workload::SizedBuffer& buffer : workload.buffers) {
    const auto allocated = [&] {
      timer_.heartbeat();
      const auto bytes = std::max<std::size_t>(static_cast<std::size_t>(buffer.bytes()), 1);
      return memory_.emplace_back(std::make_unique<PinnedBuffer>(bytes))->address();
    };
    inputs_.push_back(buffer.role == BufferRole::out ? 0 : allocated());
    outputs_.push_back(buffer.role == BufferRole::in ? 0 : allocated());
  }
}

void HostCopies::fetch() {
  const std::vector<DeviceAddress> contents = buffers_.contents();
  for (std::size_t i = 0; i < contents.size(); ++i) copy(inputs_[i], contents[i], i);
}

/// All of a buffer, on the first GPU's stream.
void HostCopies::copy(DeviceAddress to, DeviceAddress from, std::size_t buffer) {
  const auto bytes = static_cast<std::size_t>(buffers_.request().workload.buffers[buffer].bytes());
  if (to != 0 && from != 0 && bytes > 0) copy_between(to, from, bytes, gpu_.stream());
}

double HostCopies::time_us(const Subject& subject) {
  // A baseline may be launched on the first GPU alone.
  Slices* const slices = subject.gpu_times_us ? buffers_.slices() : nullptr;
  constexpr int kRepetitions = 5;
  std::vector<double> times_us;
  for (int repetition = 0; repetition <= kRepetitions; ++repetition) {
    timer_.estimate_us([&] {
      restore(subject, {});
      fetch();
    });
    const double time_us = timer_.estimate_us([&] {
      if (slices != nullptr) return copy_slices_and_launch(*slices, subject);
      const std::vector<DeviceAddress> wholes = buffers_.wholes();
      for (std::size_t i = 0; i < wholes.size(); ++i) copy(wholes[i], inputs_[i], i);
      subject.launch(0);
      for (std::size_t i = 0; i < wholes.size(); ++i) copy(outputs_[i], wholes[i], i);
    });
    if (subject.tally) {
      buffers_.checks().reserve(1);
      buffers_.queue_check({}, subject.tally);
    }
    // The first one loads what the others find loaded.
    if (repetition > 0) times_us.push_back(time_us);
  }
  return median(times_us);
}

void HostCopies::copy_slices_and_launch(Slices& slices, const Subject& subject) {
  GpuGroup& group = slices.group();
  group.fork();
  slices.copy_inputs(inputs_);
  group.barrier();
  try {
    subject.launch(0);
  } catch (...) {
    group.join();  // whoever waits for the first GPU waits for the copies of all
    throw;
  }
  group.barrier();
  slices.copy_outputs(outputs_);
  group.join();
}

}  // namespace tiletune
