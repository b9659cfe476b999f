#include "measure/guards.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/text.h"

namespace tiletune {

std::size_t guard_bytes() {
  constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
  return std::getenv("TILETUNE_NO_GUARDS") == nullptr ? kGuardBytes : 0;
}

GuardedBuffer::GuardedBuffer(std::string name, std::size_t bytes, std::uint8_t pattern)
    : name_(std::move(name)),
      bytes_(bytes),
      pattern_(pattern),
      memory_(guard_bytes() > 0 ? DeviceBuffer::apart(bytes + 2 * guard_bytes())
                                : DeviceBuffer(std::max<std::size_t>(bytes, 1))) {
  constexpr std::size_t kAlignment = 256;
  const std::size_t aligned = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  // As near to the end as its alignment allows.
  data_ = memory_.address();
  if (guard_bytes() > 0) data_ += (memory_.bytes() - guard_bytes() - aligned) / kAlignment * kAlignment;
}

std::optional<Finding> GuardedBuffer::check(DeviceKernels& kernels) const {
  if (guard_bytes() == 0) return std::nullopt;
  for (const bool before : {true, false}) {
    const DeviceAddress band = before ? memory_.address() : data() + bytes_;
    const std::size_t size = before ? data() - band : memory_.address() + memory_.bytes() - band;
    const GuardResult result = kernels.check_guard(band, size, pattern_);
    if (result.changed == 0) continue;
    const std::string where = before ? fmt::format("up to {} bytes before its start", size - result.first)
                                     : fmt::format("from byte {} past its end on", result.first);
    return Finding{Outcome::out_of_bounds,
                   fmt::format("{} bytes outside {} were written, {}", result.changed, name_, where)};
  }
  return std::nullopt;
}

std::uint8_t pattern_round(const Workload::SizedBuffer& buffer) {
  return buffer.role == BufferRole::in ? kNanPattern : kGuardPattern;
}

ElementRows rows_of(const Workload::SizedBuffer& buffer) {
  const auto values = static_cast<std::uint64_t>(buffer.values());
  if (!buffer.is_padded()) return {values, values, values};
  return {values, static_cast<std::uint64_t>(buffer.rows->columns),
          static_cast<std::uint64_t>(buffer.rows->pitch)};
}

Bands padding_of(const Workload::SizedBuffer& buffer, DeviceAddress data) {
  if (!buffer.is_padded()) return {};
  const auto [values, columns, pitch] = rows_of(buffer);
  const std::size_t size = size_bytes(buffer.type);
  return {data + columns * size, values / columns - 1, pitch * size, (pitch - columns) * size};
}

KernelWorkspace::KernelWorkspace(Gpu& gpu, DeviceKernels& kernels, const std::vector<SizedWorkspace>& arrays)
    : gpu_(gpu), kernels_(kernels) {
  check_free_memory(arrays);
  for (const SizedWorkspace& array : arrays) {
    addresses_[array.name] = 0;
    if (array.elements == 0) continue;
    slots_.push_back({array, GuardedBuffer(array.name, array.bytes(), kGuardPattern)});
    addresses_[array.name] = slots_.back().memory.data();
  }
  reset();
}

void KernelWorkspace::check_free_memory(const std::vector<SizedWorkspace>& arrays) const {
  if (arrays.empty()) return;
  const std::size_t free = gpu_.free_bytes();
  std::size_t needed = 0;
  std::string sum;
  for (const SizedWorkspace& array : arrays) {
    needed += array.bytes() + 2 * guard_bytes();
    sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", array.name, human_bytes(array.bytes()));
    if (needed <= free) continue;
    throw Unlaunchable(Outcome::refused,
                       fmt::format("workspace {} > {} of GPU memory that are free", sum, human_bytes(free)));
  }
}

void KernelWorkspace::reset() {
  for (const Slot& slot : slots_) slot.memory.fill(gpu_);
  poison(kNan);
}

void KernelWorkspace::poison(std::uint32_t word) {
  for (const Slot& slot : slots_) {
    const std::size_t words = slot.memory.bytes() / sizeof word;
    if (words > 0) gpu_.fill32(slot.memory.data(), slot.array.zeroed ? 0 : word, words);
    const std::size_t rest = slot.memory.bytes() % sizeof word;
    if (rest > 0) gpu_.fill8(slot.memory.data() + words * sizeof word, slot.array.zeroed ? 0 : 0xff, rest);
  }
}

std::optional<Finding> KernelWorkspace::check_surroundings() {
  for (const Slot& slot : slots_)
    if (auto finding = slot.memory.check(kernels_)) return finding;
  return std::nullopt;
}

std::optional<Finding> KernelWorkspace::check() {
  if (auto finding = check_surroundings()) return finding;
  for (const Slot& slot : slots_)
    if (auto finding = check_zero(slot)) return finding;
  return std::nullopt;
}

std::optional<Finding> KernelWorkspace::check_zero(const Slot& slot) {
  if (!slot.array.zeroed) return std::nullopt;
  const GuardResult result = kernels_.check_guard(slot.memory.data(), slot.memory.bytes(), 0);
  if (result.changed == 0) return std::nullopt;
  const std::uint64_t index = result.first / size_bytes(slot.array.type);
  const DeviceBuffer wide(sizeof(double));
  kernels_.widen(slot.array.type, slot.memory.data() + index * size_bytes(slot.array.type), wide.address(),
                 1);
  double value = 0;
  gpu_.copy_to_host(&value, wide.address(), sizeof value);
  return Finding{Outcome::wrong_result, fmt::format("left workspace '{}' not zero: element {} is {}",
                                                    slot.array.name, index, value)};
}

}  // namespace tiletune
