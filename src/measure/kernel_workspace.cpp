#include "measure/kernel_workspace.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tiletune {

KernelWorkspace::KernelWorkspace(Gpu& gpu, DeviceKernels& kernels, const std::vector<SizedWorkspace>& arrays)
    : gpu_(gpu), kernels_(kernels) {
  check_free_memory(arrays);
  const std::size_t guard = guard_bytes();
  for (const SizedWorkspace& array : arrays) {
    addresses_[array.name] = 0;
    if (array.elements == 0) continue;
    Slot& slot = slots_.emplace_back();
    slot.array = array;
    slot.memory = DeviceBuffer(array.bytes() + 2 * guard);
    slot.guarded = {array.name, slot.memory.address() + guard, array.bytes(), guard, kGuardPattern};
    addresses_[array.name] = slot.guarded.data;
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
  for (const Slot& slot : slots_) {
    gpu_.fill8(slot.memory.address(), kGuardPattern, slot.memory.bytes());
    if (slot.array.zeroed) gpu_.fill8(slot.guarded.data, 0, slot.guarded.bytes);
  }
  poison(0);
}

void KernelWorkspace::poison(int variant) {
  constexpr std::uint32_t kOtherNan = 0x7fff7fff;
  for (const Slot& slot : slots_) {
    if (slot.array.zeroed) continue;
    gpu_.fill8(slot.guarded.data, 0xff, slot.guarded.bytes);
    if (variant != 0) gpu_.fill32(slot.guarded.data, kOtherNan, slot.guarded.bytes / sizeof kOtherNan);
  }
}

std::optional<Finding> KernelWorkspace::check_surroundings() {
  for (const Slot& slot : slots_) {
    if (auto finding = check_guards(kernels_, slot.guarded)) return finding;
  }
  return std::nullopt;
}

std::optional<Finding> KernelWorkspace::check() {
  if (auto finding = check_surroundings()) return finding;
  for (const Slot& slot : slots_) {
    if (auto finding = check_zero(slot)) return finding;
  }
  return std::nullopt;
}

std::optional<Finding> KernelWorkspace::check_zero(const Slot& slot) {
  if (!slot.array.zeroed) return std::nullopt;
  const GuardResult result = kernels_.check_guard(slot.guarded.data, slot.guarded.bytes, 0);
  if (result.changed == 0) return std::nullopt;
  const std::uint64_t index = result.first / size_bytes(slot.array.type);
  return Finding{Outcome::wrong_result, fmt::format("left workspace '{}' not zero: element {} is {}",
                                                    slot.array.name, index, element(slot, index))};
}

double KernelWorkspace::element(const Slot& slot, std::uint64_t index) {
  const DeviceBuffer wide(sizeof(double));
  kernels_.widen(slot.array.type, slot.guarded.data + index * size_bytes(slot.array.type), wide.address(), 1);
  double value = 0;
  gpu_.copy_to_host(&value, wide.address(), sizeof value);
  return value;
}

}  // namespace tiletune
