#include "measure/gpu_group.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace tiletune {

GpuGroup::GpuGroup(Gpu& first, const std::vector<int>& others) : gpus_{&first} {
  for (const int index : others) {
    // Opening a GPU makes its context current.
    const OnGpu then_the_first(first);
    others_.push_back(std::make_unique<Gpu>(index));
    gpus_.push_back(others_.back().get());
    const DeviceFacts& other = gpus_.back()->facts();
    if (first.facts().name != other.name)
      throw GpuError(fmt::format("GPUs {} and {} are of different models, {} and {}", first.facts().index,
                                 other.index, first.facts().name, other.name));
  }
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = i + 1; j < size(); ++j) enable_peer_access(gpu(i), gpu(j));
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
  on_each([&](std::size_t number) {
    if (number > 0) wait_for(own_.front()->reached, stream(number));
  });
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
    for (std::size_t other = 0; other < size(); ++other)
      if (other != number) wait_for(own_[other]->reached, stream(number));
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
    if (is_busy) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

GroupLaunches::GroupLaunches(GpuGroup& group) : group_(group) {
  group_.on_each([&](std::size_t) { events_.push_back(std::make_unique<Events>()); });
}

void GroupLaunches::launch(const std::function<void()>& queue) {
  const std::size_t place = launches_++ % kLongestSeries;
  group_.fork();
  group_.on_each([&](std::size_t number) { record(events_[number]->begins[place], group_.stream(number)); });
  queue();
  group_.on_each([&](std::size_t number) { record(events_[number]->ends[place], group_.stream(number)); });
  group_.join();
}

std::vector<std::vector<double>> GroupLaunches::times_us(int count) {
  const auto wanted = std::min<std::size_t>({static_cast<std::size_t>(count), launches_, kLongestSeries});
  std::vector<std::vector<double>> times(wanted);
  group_.on_each([&](std::size_t number) {
    const Events& events = *events_[number];
    for (std::size_t i = 0; i < wanted; ++i) {
      const std::size_t place = (launches_ - wanted + i) % kLongestSeries;
      times[i].push_back(group_.gpu(number).elapsed_us(events.begins[place], events.ends[place]));
    }
  });
  return times;
}

/// A worker that is confined makes no connections: those that collective operations need are made by a first
/// one of each kind.
void GpuGroup::open_nccl() {
  if (nccl_ || !why_no_nccl_.empty()) return;
  constexpr std::size_t kElements = std::size_t{1} << 18;
  std::vector<int> indices;
  for (const Gpu* gpu : gpus_) indices.push_back(gpu->facts().index);
  try {
    auto opened = std::make_unique<Nccl>(indices);
    std::vector<DeviceBuffer> memory;
    std::vector<NcclPart> gathered;
    std::vector<NcclPart> scattered;
    on_each([&](std::size_t number) {
      const std::size_t part = kElements * sizeof(float);
      const DeviceAddress one = memory.emplace_back((1 + size()) * part).address();
      gathered.push_back({one, one + part, stream(number)});
      scattered.push_back({one + part, one, stream(number)});
    });
    opened->all_gather(gathered, kElements, ElementType::f32);
    opened->reduce_scatter(scattered, kElements, ElementType::f32);
    wait();
    nccl_ = std::move(opened);
  } catch (const CudaError&) {
    throw;
  } catch (const GpuError& error) {
    why_no_nccl_ = error.what();
  }
}

Slices::Slices(GpuGroup& group, const Workload& workload, std::vector<DeviceAddress> wholes)
    : group_(group), workload_(workload), wholes_(std::move(wholes)) {
  group_.on_each([&](std::size_t gpu) {
    group_.kernels(gpu).fill_shared(kNan);
    std::vector<GuardedBuffer>& slices = slices_.emplace_back();
    auto& addresses = addresses_.emplace_back();
    for (const Workload::SizedBuffer& buffer : workload_.buffers) {
      const std::size_t bytes =
          static_cast<std::size_t>(workload_.elements_on_each(buffer)) * size_bytes(buffer.type);
      slices.emplace_back(fmt::format("{} on GPU {}", buffer.name, gpu), bytes, pattern_round(buffer));
      addresses[buffer.name] = slices.back().data();
      // A kernel that is loaded while the stream is held would wait for it.
      if (buffer.role != BufferRole::in) group_.kernels(gpu).prepare_rows(buffer.type);
    }
  });
}

std::optional<ElementType> Slices::type(const std::string& buffer) const {
  for (const Workload::SizedBuffer& one : workload_.buffers)
    if (one.name == buffer) return one.type;
  return std::nullopt;
}

/// Calls `body(gpu, place, slice)`, the place being that of the buffer.
template <typename Body>
void Slices::on_each_slice(const Body& body) {
  group_.on_each([&](std::size_t gpu) {
    for (std::size_t place = 0; place < slices_[gpu].size(); ++place) body(gpu, place, slices_[gpu][place]);
  });
}

void Slices::copy_part(const Workload::SizedBuffer& buffer, std::size_t gpu, DeviceAddress whole,
                       DeviceAddress slice, bool to_slice, CUstream_st* stream) const {
  const std::size_t size = size_bytes(buffer.type);
  const std::size_t bytes = static_cast<std::size_t>(workload_.elements_on_each(buffer)) * size;
  if (bytes == 0) return;
  if (buffer.layout != BufferLayout::columns) {
    if (buffer.layout == BufferLayout::rows) whole += gpu * bytes;
    return copy_between(to_slice ? slice : whole, to_slice ? whole : slice, bytes, stream);
  }
  const std::size_t pitch = static_cast<std::size_t>(buffer.rows->columns) * size;
  const std::size_t width = pitch / group_.size();
  whole += gpu * width;
  const std::size_t rows = bytes / width;
  copy_rows(to_slice ? RowsCopy{slice, width, whole, pitch, width, rows}
                     : RowsCopy{whole, pitch, slice, width, width, rows},
            stream);
}

void Slices::fill() {
  group_.fork();
  on_each_slice([&](std::size_t gpu, std::size_t /*place*/, const GuardedBuffer& slice) {
    slice.fill(group_.gpu(gpu));
  });
  copy_inputs(wholes_);
  group_.join();
}

void Slices::restore(std::uint32_t word) {
  group_.fork();
  group_.on_each([&](std::size_t gpu) { group_.kernels(gpu).fill_shared(word); });
  copy_inputs(wholes_);
  on_each_slice([&](std::size_t gpu, std::size_t place, const GuardedBuffer& slice) {
    const Workload::SizedBuffer& buffer = workload_.buffers[place];
    if (buffer.role != BufferRole::out) return;
    const auto elements = static_cast<std::uint64_t>(workload_.elements_on_each(buffer));
    const ElementRows rows = buffer.layout == BufferLayout::replicated
                                 ? rows_of(buffer)
                                 : ElementRows{elements, elements, elements};
    group_.kernels(gpu).fill_rows(buffer.type, {slice.data(), 1, 0}, rows, word);
  });
  group_.join();
}

void Slices::copy_inputs(const std::vector<DeviceAddress>& wholes) {
  on_each_slice([&](std::size_t gpu, std::size_t place, const GuardedBuffer& slice) {
    const Workload::SizedBuffer& buffer = workload_.buffers[place];
    if (buffer.role == BufferRole::out) return;
    copy_part(buffer, gpu, wholes[place], slice.data(), true, group_.stream(gpu));
  });
}

void Slices::copy_outputs(const std::vector<DeviceAddress>& wholes) {
  on_each_slice([&](std::size_t gpu, std::size_t place, const GuardedBuffer& slice) {
    const Workload::SizedBuffer& buffer = workload_.buffers[place];
    const bool is_repeated = buffer.layout == BufferLayout::replicated && gpu > 0;
    if (buffer.role == BufferRole::in || is_repeated) return;
    copy_part(buffer, gpu, wholes[place], slice.data(), false, group_.stream(gpu));
  });
}

std::size_t Slices::results() const {
  const bool is_repeated =
      std::any_of(workload_.buffers.begin(), workload_.buffers.end(), [](const Workload::SizedBuffer& one) {
        return one.role != BufferRole::in && one.layout == BufferLayout::replicated;
      });
  return is_repeated ? group_.size() : 1;
}

void Slices::gather(std::size_t result) {
  for (std::size_t place = 0; place < wholes_.size(); ++place) {
    const Workload::SizedBuffer& buffer = workload_.buffers[place];
    if (buffer.role == BufferRole::in) continue;
    const bool is_repeated = buffer.layout == BufferLayout::replicated;
    for (std::size_t gpu = 0; gpu < group_.size(); ++gpu) {
      if (is_repeated && gpu != result) continue;
      copy_part(buffer, gpu, wholes_[place], slices_[gpu][place].data(), false, group_.stream(0));
    }
  }
}

std::optional<Finding> Slices::check() {
  std::optional<Finding> finding;
  std::vector<std::uint64_t> sums;
  const auto sum_inputs = [&] {
    sums.clear();
    on_each_slice([&](std::size_t gpu, std::size_t place, const GuardedBuffer& slice) {
      const bool is_input = workload_.buffers[place].role == BufferRole::in;
      sums.push_back(is_input ? group_.kernels(gpu).checksum(slice.data(), slice.bytes()) : 0);
    });
    return sums;
  };
  on_each_slice([&](std::size_t gpu, std::size_t /*place*/, const GuardedBuffer& slice) {
    if (!finding) finding = slice.check(group_.kernels(gpu));
  });
  if (finding) return finding;
  const std::vector<std::uint64_t> left = sum_inputs();
  group_.fork();
  on_each_slice([&](std::size_t gpu, std::size_t place, const GuardedBuffer& slice) {
    const Workload::SizedBuffer& buffer = workload_.buffers[place];
    if (buffer.role == BufferRole::in)
      copy_part(buffer, gpu, wholes_[place], slice.data(), true, group_.stream(gpu));
  });
  group_.join();
  const std::vector<std::uint64_t> wanted = sum_inputs();
  const auto modified = std::mismatch(left.begin(), left.end(), wanted.begin()).first - left.begin();
  if (static_cast<std::size_t>(modified) == left.size()) return std::nullopt;
  const std::size_t place = static_cast<std::size_t>(modified) % workload_.buffers.size();
  const std::size_t gpu = static_cast<std::size_t>(modified) / workload_.buffers.size();
  return Finding{Outcome::wrong_result,
                 fmt::format("the input {} on GPU {} was modified", workload_.buffers[place].name, gpu)};
}

}  // namespace tiletune
