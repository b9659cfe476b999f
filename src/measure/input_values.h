#pragma once

#include <cstdint>

#include "gpu/device.h"
#include "space/instance.h"

namespace tiletune {

/// The values that an input holds: those that its operation states, else uniform(-1, 1), and small integers
/// in buffers of integers.
Workload::Values values_of(const Workload::SizedBuffer& buffer);

/// Element `n` of `count`, before it is rounded to the buffer's type: what the kernel fill_values computes,
/// but for the last bits of `normal`.
double input_value(const Workload::Values& values, std::uint64_t seed, std::uint64_t count, std::uint64_t n);

/// The nearest number of the type, as the kernel fill_values rounds it.
double rounded(double value, ElementType type);
/// The bits of a number that f16 holds.
std::uint16_t half_bits(double value);

/// The seed of a set of inputs; that of the first is the sweep's.
std::uint64_t seed_of_set(std::uint64_t seed, std::size_t set);

/// The seed of the buffer with this place in its operation: each has its own stretch of the counter sequence.
std::uint64_t seed_of_buffer(std::uint64_t seed, std::size_t place);

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
