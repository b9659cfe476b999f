#pragma once

#include <filesystem>
#include <string>

namespace tiletune {

/// What kind of network file system a file lies on, or would (the nearest folder above it that exists
/// counts): "nfs", "lustre", ..., "fuse" for one that may be. Empty: a local one, or it is unknown.
std::string network_file_system(const std::filesystem::path& file);

/// The same of statfs's f_type.
std::string network_file_system(unsigned long type);

}  // namespace tiletune
