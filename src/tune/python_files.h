#pragma once

#include <cstdint>
#include <filesystem>

#include "space/instance.h"

namespace tiletune {

/// The type of the numbers that a function gets for a buffer: NumPy has none for bf16 and fp8, whose values
/// f32 holds.
ElementType numpy_type_of(ElementType type);

/// Makes the .npy file of an input's values, without padding. Throws UserError when it cannot be written.
void write_input(const std::filesystem::path& path, const Workload::SizedBuffer& buffer, std::uint64_t seed);

/// Makes a file of that many zero bytes, at least one. Throws UserError when it cannot be made.
void make_zeros(const std::filesystem::path& path, std::uint64_t bytes);

}  // namespace tiletune
