#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace tiletune {

/// The CUDA toolkit's headers on this machine: $TILETUNE_CUDA_INCLUDE, else the folder known from the build,
/// else include/ beside the folder of NVRTC or one level higher, else /usr/local/cuda/include; none when
/// there are none. Absolute. Throws UserError when the environment names a folder that does not exist, and
/// where the last ones are looked for without an NVRTC.
std::optional<std::filesystem::path> cuda_include_folder();

/// Architectures NVRTC makes code for, ascending: 75, 80, ... 121.
const std::vector<int>& supported_architectures();

/// CPU time of this process over all its threads.
double process_cpu_ms();

/// Whether tiletune notices which files this NVRTC includes, as dependencies need. Compiles two lines.
bool notices_includes();

}  // namespace tiletune
