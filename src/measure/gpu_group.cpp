#include "measure/gpu_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "measure/check_queue.h"

namespace tiletune {

namespace {

constexpr std::size_t kKept = kLongestSeries;
constexpr auto kBetweenQuestions = std::chrono::microseconds(20);

void check_models(const Gpu& first, const Gpu& other) {
  if (first.facts().name == other.facts().name) return;
  throw GpuError(fmt::format("GPUs {} and {} are of different models, {} and {}", first.facts().index,
                             other.facts().index, first.facts().name, other.facts().name));
}

}  // namespace

GpuGroup::GpuGroup(Gpu& first, const std::vector<int>& others) : gpus_{&first} {
  for (const int index : others) {
    // Opening a GPU makes its context current.
    const OnGpu then_the_first(first);
    others_.push_back(std::make_unique<Gpu>(index));
    gpus_.push_back(others_.back().get());
    check_models(first, *gpus_.back());
  }
  for (std::size_t i = 0; i < size(); ++i) {
    for (std::size_t j = i + 1; j < size(); ++j) enable_peer_access(gpu(i), gpu(j));
  }
  on_each([&](std::size_t) { own_.push_back(std::make_unique<Own>()); });
}

void GpuGroup::load(DeviceKernels& first) {
  if (!kernels_.empty()) return;
  on_each([&](std::size_t number) {
    if (number == 0) return kernels_.push_back(&first);
    other_kernels_.push_back(std::make_unique<DeviceKernels>(gpu(number)));
    kernels_.push_back(other_kernels_.back().get());
    flushes_.push_back(std::make_unique<CacheFlush>(gpu(number), kernels(number)));
    gpu(number).synchronize();
  });
}

void GpuGroup::fork() {
  record(own_.front()->reached, stream(0));
  for (std::size_t i = 1; i < size(); ++i) wait_for(own_.front()->reached, stream(i));
}

void GpuGroup::join() {
  on_each([&](std::size_t number) {
    if (number > 0) record(own_[number]->reached, stream(number));
  });
  for (std::size_t i = 1; i < size(); ++i) wait_for(own_[i]->reached, stream(0));
}

void GpuGroup::barrier() {
  on_each([&](std::size_t number) { record(own_[number]->reached, stream(number)); });
  on_each([&](std::size_t number) {
    for (std::size_t other = 0; other < size(); ++other) {
      if (other != number) wait_for(own_[other]->reached, stream(number));
    }
  });
}

void GpuGroup::fork_side(std::size_t number) {
  record(own_[number]->side_forked, stream(number));
  wait_for(own_[number]->side_forked, side_stream(number));
}

void GpuGroup::join_side(std::size_t number) {
  record(own_[number]->side_done, side_stream(number));
  wait_for(own_[number]->side_done, stream(number));
}

void GpuGroup::flush_others(bool dirty) {
  on_each([&](std::size_t number) {
    if (number == 0) return;
    CacheFlush& flush = *flushes_[number - 1];
    dirty ? flush.dirty() : flush.clean();
  });
}

void GpuGroup::wait() {
  bool is_busy = true;
  while (is_busy) {
    is_busy = false;
    on_each([&](std::size_t number) { is_busy = !is_idle(stream(number)) || is_busy; });
    if (is_busy) std::this_thread::sleep_for(kBetweenQuestions);
  }
}

GroupLaunches::GroupLaunches(GpuGroup& group) : group_(group) {
  group_.on_each([&](std::size_t) { events_.push_back(std::make_unique<Events>()); });
}

GroupLaunches::Events::Events() : begins(kKept), ends(kKept) {}

void GroupLaunches::launch(const std::function<void()>& queue) {
  const std::size_t place = launches_++ % kKept;
  group_.fork();
  group_.on_each([&](std::size_t number) { record(events_[number]->begins[place], group_.stream(number)); });
  queue();
  group_.on_each([&](std::size_t number) { record(events_[number]->ends[place], group_.stream(number)); });
  group_.join();
}

std::vector<std::vector<double>> GroupLaunches::times_us(int count) {
  const std::size_t wanted = std::min({static_cast<std::size_t>(count), launches_, kKept});
  std::vector<std::vector<double>> times(wanted);
  group_.on_each([&](std::size_t number) {
    const Events& events = *events_[number];
    for (std::size_t i = 0; i < wanted; ++i) {
      const std::size_t place = (launches_ - wanted + i) % kKept;
      times[i].push_back(group_.gpu(number).elapsed_us(events.begins[place], events.ends[place]));
    }
  });
  return times;
}

/// A worker that is confined makes no connections: those that collective operations need are made by a first
/// one of each kind.
void GroupLibraries::open_nccl(GpuGroup& group) {
  if (nccl || !why_no_nccl.empty()) return;
  constexpr std::size_t kElements = std::size_t{1} << 18;
  std::vector<int> indices;
  group.on_each([&](std::size_t number) { indices.push_back(group.gpu(number).facts().index); });
  try {
    auto opened = std::make_unique<Nccl>(indices);
    std::vector<DeviceBuffer> memory;
    std::vector<NcclPart> gathered;
    std::vector<NcclPart> scattered;
    group.on_each([&](std::size_t number) {
      const std::size_t part = kElements * sizeof(float);
      const DeviceAddress one = memory.emplace_back((1 + group.size()) * part).address();
      gathered.push_back({one, one + part, group.stream(number)});
      scattered.push_back({one + part, one, group.stream(number)});
    });
    opened->all_gather(gathered, kElements, ElementType::f32);
    opened->reduce_scatter(scattered, kElements, ElementType::f32);
    group.wait();
    nccl = std::move(opened);
  } catch (const CudaError&) {
    throw;
  } catch (const GpuError& error) {
    why_no_nccl = error.what();
  }
}

void GroupLibraries::open_blas(GpuGroup& group) {
  if (!blas.empty()) return;
  std::vector<std::unique_ptr<Blas>> opened;
  group.on_each([&](std::size_t number) { opened.push_back(std::make_unique<Blas>(group.gpu(number))); });
  blas = std::move(opened);
}

}  // namespace tiletune
