#include "measure/host_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/statistics.h"
#include "base/system.h"
#include "base/text.h"
#include "gpu/stream.h"

namespace tiletune {

namespace {

constexpr int kRepetitions = 5;

/// What the host must have. An inout buffer has two: what it holds before a launch, and after it.
std::uint64_t needed_bytes(const Workload& workload) {
  std::uint64_t needed = 0;
  for (const Workload::SizedBuffer& buffer : workload.buffers)
    needed += static_cast<std::uint64_t>(buffer.bytes()) * (buffer.role == BufferRole::inout ? 2 : 1);
  return needed;
}

/// The system would rather end processes than refuse memory that it does not have.
void check_available(const Workload& workload) {
  const std::uint64_t needed = needed_bytes(workload);
  const auto available = available_memory_bytes();
  if (!available || needed <= *available) return;
  throw GpuError(fmt::format("inputs and outputs {} > {} of host memory that are available",
                             human_bytes(needed), human_bytes(*available)));
}

}  // namespace

HostCopies::HostCopies(Gpu& gpu, ProblemBuffers& buffers, Timer& timer)
    : gpu_(gpu), buffers_(buffers), timer_(timer) {
  const Workload& workload = buffers.request().workload;
  check_available(workload);
  for (const Workload::SizedBuffer& buffer : workload.buffers) {
    const auto allocated = [&] {
      timer_.beat();
      const auto bytes = std::max<std::size_t>(static_cast<std::size_t>(buffer.bytes()), 1);
      return memory_.emplace_back(std::make_unique<PinnedBuffer>(bytes))->address();
    };
    inputs_.push_back(buffer.role == BufferRole::out ? 0 : allocated());
    outputs_.push_back(buffer.role == BufferRole::in ? 0 : allocated());
  }
}

void HostCopies::fill() {
  const std::vector<Workload::SizedBuffer>& buffers = buffers_.request().workload.buffers;
  const std::vector<Slices::Whole> wholes = buffers_.wholes();
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    const DeviceAddress from = buffers[i].role == BufferRole::inout ? wholes[i].initial : wholes[i].data;
    copy(inputs_[i], from, i);
  }
  gpu_.synchronize();
}

/// All of a buffer, on the first GPU's stream.
void HostCopies::copy(DeviceAddress to, DeviceAddress from, std::size_t buffer) {
  const auto bytes = static_cast<std::size_t>(buffers_.request().workload.buffers[buffer].bytes());
  if (to != 0 && from != 0 && bytes > 0) copy_between(to, from, bytes, gpu_.stream());
}

double HostCopies::time_us(const Subject& subject) {
  // A baseline may be launched on the first GPU alone.
  Slices* const slices = subject.gpu_times_us ? buffers_.slices() : nullptr;
  std::vector<double> times_us;
  for (int repetition = 0; repetition <= kRepetitions; ++repetition) {
    timer_.estimate_us([&] { buffers_.invalidate({}); });
    const double time_us = timer_.estimate_us([&] {
      if (slices != nullptr) return copy_slices_and_launch(*slices, subject);
      copy_and_launch(subject);
    });
    // The first one loads what the others find loaded.
    if (repetition > 0) times_us.push_back(time_us);
  }
  return median(times_us);
}

void HostCopies::copy_and_launch(const Subject& subject) {
  const std::vector<Slices::Whole> wholes = buffers_.wholes();
  for (std::size_t i = 0; i < wholes.size(); ++i) copy(wholes[i].data, inputs_[i], i);
  subject.launch(0);
  for (std::size_t i = 0; i < wholes.size(); ++i) copy(outputs_[i], wholes[i].data, i);
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
