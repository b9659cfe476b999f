#pragma once

#include <cstdint>

#include "measure/device_kernels.h"
#include "measure/guards.h"
#include "space/instance.h"

namespace tiletune {

/// A NaN in every floating-point type. It stands round inputs and between their rows: a kernel that takes it
/// for data gives a wrong result.
constexpr std::uint8_t kNanPattern = 0xff;

/// What stands round a buffer's data and between its rows.
std::uint8_t pattern_round(const Workload::SizedBuffer& buffer);
ElementRows rows_of(const Workload::SizedBuffer& buffer);
/// The padding between the rows of a buffer that lies at `data`; no bands when there is none.
Bands padding_of(const Workload::SizedBuffer& buffer, DeviceAddress data);

}  // namespace tiletune
