#include "measure/surroundings.h"

namespace tiletune {

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
