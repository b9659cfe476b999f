#pragma once

#include "gpu/device.h"
#include "space/instance.h"

namespace tiletune {

/// Fills an input with the numbers of its file; what lies between rows becomes zero. Throws GpuError when the
/// file has changed since it was checked, or cannot be read.
void load_values(Gpu& gpu, const Workload::SizedBuffer& buffer, DeviceAddress to);

/// What an output must hold, by its file: FP64 numbers, or integers of its own type, laid out as the output
/// is. Throws as load_values() does.
DeviceBuffer load_expected(Gpu& gpu, const Workload::SizedBuffer& buffer);

/// Writes the elements of an output, without padding, to a file that is there. Throws GpuError.
void store_output(Gpu& gpu, const Workload::SizedBuffer& buffer, DeviceAddress from, const std::string& path,
                  std::uint64_t offset);

}  // namespace tiletune
