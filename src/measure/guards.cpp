#include "measure/guards.h"

#include <fmt/format.h>

#include <cstdlib>

namespace tiletune {

namespace {

std::optional<Finding> check_band(DeviceKernels& kernels, const Guarded& guarded, bool before) {
  const DeviceAddress band = before ? guarded.data - guarded.guard : guarded.data + guarded.bytes;
  const GuardResult result = kernels.check_guard(band, guarded.guard, guarded.pattern);
  if (result.changed == 0) return std::nullopt;
  const std::string where = before
                                ? fmt::format("up to {} bytes before its start", guarded.guard - result.first)
                                : fmt::format("from byte {} past its end on", result.first);
  return Finding{Outcome::out_of_bounds,
                 fmt::format("{} bytes outside {} were written, {}", result.changed, guarded.name, where)};
}

}  // namespace

std::size_t guard_bytes() {
  constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
  return std::getenv("TILETUNE_NO_GUARDS") == nullptr ? kGuardBytes : 0;
}

std::optional<Finding> check_guards(DeviceKernels& kernels, const Guarded& guarded) {
  for (const bool before : {true, false}) {
    if (auto finding = check_band(kernels, guarded, before)) return finding;
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

}  // namespace tiletune
