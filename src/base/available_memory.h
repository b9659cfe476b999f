#pragma once

#include <cstdint>
#include <istream>
#include <optional>

namespace tiletune {

/// Bytes of host memory that programs can still get without swapping, as Linux estimates them (MemAvailable
/// of /proc/meminfo). A container may allow less. None where the system does not say.
std::optional<std::uint64_t> available_memory_bytes();
/// The same of a text in the form of /proc/meminfo.
std::optional<std::uint64_t> available_memory_bytes(std::istream& meminfo);

}  // namespace tiletune
