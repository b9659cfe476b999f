#include "measure/slices.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/surroundings.h"

namespace tiletune {

Slices::Slices(GpuGroup& group, const Workload& workload) : group_(group), workload_(workload) {
  const std::size_t guard = guard_bytes();
  group_.on_each([&](std::size_t gpu) {
    std::vector<Slice>& slices = slices_.emplace_back();
    auto& addresses = addresses_.emplace_back();
    for (const Workload::SizedBuffer& buffer : workload_.buffers) {
      Slice& slice = slices.emplace_back();
      const std::size_t bytes =
          static_cast<std::size_t>(workload_.elements_on_each(buffer)) * size_bytes(buffer.type);
      slice.memory = DeviceBuffer(std::max<std::size_t>(bytes + 2 * guard, 1));
      slice.guarded = {fmt::format("{} on GPU {}", buffer.name, gpu), slice.memory.address() + guard, bytes,
                       guard, pattern_round(buffer)};
      addresses[buffer.name] = slice.guarded.data;
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

void Slices::fill(const std::vector<Whole>& wholes) {
  group_.fork();
  on_each_slice([&](std::size_t gpu, std::size_t place, Slice& slice) {
    const Workload::SizedBuffer& buffer = workload_.buffers[place];
    group_.gpu(gpu).fill8(slice.memory.address(), slice.guarded.pattern, slice.memory.bytes());
    if (buffer.role != BufferRole::out)
      copy_part(buffer, gpu, wholes[place].data, slice.guarded.data, true, group_.stream(gpu));
  });
  group_.join();
  on_each_slice([&](std::size_t gpu, std::size_t place, Slice& slice) {
    if (workload_.buffers[place].role == BufferRole::in)
      slice.checksum = group_.kernels(gpu).checksum(slice.guarded.data, slice.guarded.bytes);
  });
}

void Slices::fill_outputs(const std::vector<Whole>& wholes, std::uint32_t word) {
  group_.fork();
  on_each_slice([&](std::size_t gpu, std::size_t place, Slice& slice) {
    const Workload::SizedBuffer& buffer = workload_.buffers[place];
    if (buffer.role == BufferRole::in) return;
    if (buffer.role == BufferRole::inout)
      return copy_part(buffer, gpu, wholes[place].initial, slice.guarded.data, true, group_.stream(gpu));
    const auto elements = static_cast<std::uint64_t>(workload_.elements_on_each(buffer));
    const ElementRows rows = buffer.layout == BufferLayout::replicated
                                 ? rows_of(buffer)
                                 : ElementRows{elements, elements, elements};
    group_.kernels(gpu).fill_rows(buffer.type, {slice.guarded.data, 1, 0}, rows, word);
  });
  group_.join();
}

void Slices::copy_inputs(const std::vector<DeviceAddress>& wholes) {
  on_each_slice([&](std::size_t gpu, std::size_t place, Slice& slice) {
    const Workload::SizedBuffer& buffer = workload_.buffers[place];
    if (buffer.role == BufferRole::out) return;
    copy_part(buffer, gpu, wholes[place], slice.guarded.data, true, group_.stream(gpu));
  });
}

void Slices::copy_outputs(const std::vector<DeviceAddress>& wholes) {
  on_each_slice([&](std::size_t gpu, std::size_t place, Slice& slice) {
    const Workload::SizedBuffer& buffer = workload_.buffers[place];
    const bool is_repeated = buffer.layout == BufferLayout::replicated && gpu > 0;
    if (buffer.role == BufferRole::in || is_repeated) return;
    copy_part(buffer, gpu, wholes[place], slice.guarded.data, false, group_.stream(gpu));
  });
}

std::size_t Slices::results() const {
  const bool is_repeated =
      std::any_of(workload_.buffers.begin(), workload_.buffers.end(), [](const Workload::SizedBuffer& one) {
        return one.role != BufferRole::in && one.layout == BufferLayout::replicated;
      });
  return is_repeated ? group_.size() : 1;
}

void Slices::gather(const std::vector<Whole>& wholes, std::size_t result) {
  for (std::size_t place = 0; place < wholes.size(); ++place) {
    const Workload::SizedBuffer& buffer = workload_.buffers[place];
    if (buffer.role == BufferRole::in) continue;
    const bool is_repeated = buffer.layout == BufferLayout::replicated;
    for (std::size_t gpu = 0; gpu < group_.size(); ++gpu) {
      if (is_repeated && gpu != result) continue;
      copy_part(buffer, gpu, wholes[place].data, slices_[gpu][place].guarded.data, false, group_.stream(0));
    }
  }
}

std::optional<Finding> Slices::check() {
  std::optional<Finding> finding;
  on_each_slice([&](std::size_t gpu, std::size_t /*place*/, Slice& slice) {
    if (!finding) finding = check_guards(group_.kernels(gpu), slice.guarded);
  });
  on_each_slice([&](std::size_t gpu, std::size_t place, Slice& slice) {
    if (finding || workload_.buffers[place].role != BufferRole::in) return;
    if (group_.kernels(gpu).checksum(slice.guarded.data, slice.guarded.bytes) != slice.checksum)
      finding = Finding{Outcome::wrong_result, fmt::format("the input {} was modified", slice.guarded.name)};
  });
  return finding;
}

}  // namespace tiletune
