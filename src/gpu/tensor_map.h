#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/device.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// What a kernel takes as a tensor map, as it is passed: cuda.h's CUtensorMap.
struct alignas(64) TensorMapBytes {
  std::array<std::byte, 128> bytes{};
};

/// Innermost dimension first; the pitches are of all but that.
struct TensorMapLayout {
  ElementType type = ElementType::f32;
  DeviceAddress address = 0;
  std::vector<std::uint64_t> extents;  ///< elements
  std::vector<std::uint64_t> pitch_bytes;
  std::vector<std::uint32_t> box;  ///< elements
  Swizzle swizzle = Swizzle::none;
  Promotion promotion = Promotion::bytes_128;
};

/// Elements beyond the extents read as zero and are not written. Throws CudaError when the driver refuses it,
/// GpuError when it knows no tensor maps.
TensorMapBytes encode_tensor_map(const TensorMapLayout& layout);

}  // namespace tiletune
