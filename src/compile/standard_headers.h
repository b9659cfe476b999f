#pragma once

#include <span>
#include <string>

namespace tiletune {

/// A header that the compiler finds by its name, wherever it looks.
struct NamedHeader {
  const char* name;
  std::string text;
};

/// What sources written for nvcc include and NVRTC has no file for: the C headers, the headers of the C++
/// library whose contents CUDA has as cuda::std, which become std, and the device part of CUB. Only functions
/// and types that exist on the device are in them.
std::span<const NamedHeader> standard_headers();

/// The one that stands before every source: nvcc reads the host's <math.h> there.
inline constexpr const char* kPrelude = "tiletune/prelude.h";

/// The whole-device algorithms of CUB are host code, which NVRTC refuses: in the place of its own list of
/// headers, whichever CUB the search finds, stands one of those that kernels use.
inline constexpr const char* kCubHeader = "cub/cub.cuh";

/// The hash of all standard headers.
const std::string& standard_headers_hash();

}  // namespace tiletune
