#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <optional>
#include <string>

namespace tiletune {

/// What this machine calls itself in its network; empty where that cannot be read.
std::string host_name();

/// Bytes of host memory that programs can still get without swapping, as Linux estimates them (MemAvailable
/// of /proc/meminfo). A container may allow less. None where the system does not say.
std::optional<std::uint64_t> available_memory_bytes();
/// What a text in the form of /proc/meminfo says.
std::optional<std::uint64_t> available_memory_bytes(std::istream& meminfo);

/// What kind of network file system a file lies on, or would (the nearest folder above it that exists
/// counts): "nfs", "lustre", ..., "fuse" for one that may be. Empty: a local one, or it is unknown.
std::string network_file_system(const std::filesystem::path& file);

/// What kind it is by the f_type that statfs() gives.
std::string network_file_system(unsigned long type);

}  // namespace tiletune
