#pragma once

#include <cstdint>

#include "base/fields.h"

namespace tiletune {

struct Dim3 {
  std::int64_t x = 1, y = 1, z = 1;
  std::int64_t count() const { return x * y * z; }
  bool operator==(const Dim3&) const = default;

  static constexpr auto fields() {
    constexpr Bounds<std::int64_t> kExtent{.min = 0, .max = 0xffffffff};
    return fields_of<&Dim3::x, &Dim3::y, &Dim3::z>(kExtent);
  }
};

/// The grid and block sizes of a launch, and its dynamic shared memory.
struct LaunchShape {
  Dim3 grid;   ///< thread blocks
  Dim3 block;  ///< threads
  std::int64_t dynamic_shared_bytes = 0;

  static constexpr auto fields() {
    using L = LaunchShape;
    return list_of(field("grid", &L::grid), field("block", &L::block),
                   field("dynamic_shared_bytes", &L::dynamic_shared_bytes, {.min = 0, .max = 0xffffffff}));
  }
};

}  // namespace tiletune
